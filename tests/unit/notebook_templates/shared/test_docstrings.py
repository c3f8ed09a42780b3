"""The text that templates about language read."""

import sys
from pathlib import Path

import pytest

from tests.support.load_file import load_file

docstrings = load_file(Path(__file__).parents[4] / "notebook_templates/shared/docstrings.py")

SOURCE = '''
def documented():
    """Return what is asked for,
    with more words than are left out."""

class Same:
    """Return what is asked for, with more words than are left out."""

def short():
    """Too short."""
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "made_package"
    (folder / "tests").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('it was imported')\n")
    (folder / "module.py").write_text(SOURCE)
    (folder / "tests/test_module.py").write_text(SOURCE.replace("asked", "tested"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return folder.name


def test_a_text_comes_once_with_its_package_and_file_and_nothing_is_imported(package: str) -> None:
    assert docstrings.read_docstrings([package]) == [
        {
            "text": "Return what is asked for, with more words than are left out.",
            "package": "made_package",
            "file": "made_package/module.py",
        }
    ]


def test_no_more_texts_come_than_were_asked_for(package: str) -> None:
    assert docstrings.read_docstrings([package], n_each=0) == []


def test_a_package_that_is_not_there_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match="This kernel has no no_such_package"):
        docstrings.read_docstrings(["no_such_package"])
