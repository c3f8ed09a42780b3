import os
import sys
from pathlib import Path

import pytest

from dsportal.start.python_path import guard_debuggers, offer_library
from portal.environments.command import FIRST_IN_PATH


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


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The session's folder, whose `sitecustomize` says that it ran."""
    folder = tmp_path / FIRST_IN_PATH
    folder.mkdir(parents=True)
    (folder / "sitecustomize.py").write_text("import os; os.environ['RAN'] = __name__\n")
    monkeypatch.setenv("PORTAL_LIBRARY", str(tmp_path))
    monkeypatch.setenv("RAN", "")
    return tmp_path


@pytest.mark.parametrize(
    ("before", "behind"), [(None, ""), ("", ""), ("/of/module", ":/of/module")]
)
def test_a_kernel_guards_debuggers_if_python_has_not_done_it(
    before: str | None, behind: str, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if before is not None:
        monkeypatch.setenv("PYTHONPATH", before)

    guard_debuggers()

    # Not the name under which it runs the one that it hides, which has run.
    assert os.environ["RAN"] not in {"", "sitecustomize"}
    assert os.environ["PYTHONPATH"] == f"{library}/{FIRST_IN_PATH}{behind}"


def test_what_python_has_done_is_not_done_again(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{library}/{FIRST_IN_PATH}:/mine")

    guard_debuggers()

    assert os.environ["RAN"] == ""


def test_without_the_folder_a_kernel_starts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTAL_LIBRARY", "/absent")
    monkeypatch.setenv("PYTHONPATH", "/mine")

    guard_debuggers()

    assert os.environ["PYTHONPATH"] == "/mine"
