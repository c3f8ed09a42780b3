import os
import sys

import pytest

from dsportal.start.kernel_start import name_the_notebook, take_a_shell_that_is_here


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
