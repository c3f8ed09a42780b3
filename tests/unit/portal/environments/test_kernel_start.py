from __future__ import annotations

import os
import sys

import pytest

from portal.environments.kernel_start import (
    name_the_notebook,
    offer_library,
    take_a_shell_that_is_here,
)


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, "/library"), ("", "/library"), ("/of/module", "/of/module:/library")],
)
def test_what_was_taken_off_the_path_comes_back_behind_all_else(
    before: str | None, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTAL_LIBRARY", "/library")
    monkeypatch.setattr(sys, "path", ["/usr/lib/python3"])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if before is not None:
        monkeypatch.setenv("PYTHONPATH", before)

    offer_library()

    assert sys.path == ["/usr/lib/python3", "/library"]
    assert os.environ["PYTHONPATH"] == after


@pytest.mark.parametrize("library", ["", "/usr/lib/python3"])
def test_nothing_changes_where_it_is_on_the_path_or_not_offered(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTAL_LIBRARY", library)
    monkeypatch.setattr(sys, "path", ["/usr/lib/python3"])
    monkeypatch.setenv("PYTHONPATH", "/usr/lib/python3")

    offer_library()

    assert sys.path == ["/usr/lib/python3"]
    assert os.environ["PYTHONPATH"] == "/usr/lib/python3"


@pytest.mark.parametrize(
    ("before", "after"), [("/absent/bash", "/bin/sh"), (sys.executable, sys.executable)]
)
def test_a_shell_that_an_image_lacks_gives_way_to_one_that_it_has(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", before)

    take_a_shell_that_is_here()

    assert os.environ["SHELL"] == after


@pytest.mark.parametrize(
    ("session", "notebook"),
    [("/home/ada/digits.ipynb", "/home/ada/digits.ipynb"), ("/home/ada/Console 1", None)],
)
def test_mlflow_is_told_the_notebook_of_the_kernel(
    session: str, notebook: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", session)
    monkeypatch.delenv("IPYNB_FILE", raising=False)

    name_the_notebook()

    assert os.environ.get("IPYNB_FILE") == notebook
