"""Environments are removed with all of their files, whatever happens meanwhile."""

import errno
from pathlib import Path

import pytest

from portal.environments.registry import OWN_PATH, read_tables
from tests.support.environments import environments, folder_of


@pytest.fixture
def folder(home: Path) -> Path:
    assert environments("new", "mine", "--like", "pytorch", "tiny") == 0
    return folder_of(home, "mine")


def entries(home: Path) -> dict[str, object]:
    return read_tables(home / OWN_PATH)


def test_a_removal_that_was_interrupted_is_finished_by_the_next(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path) -> None:
        raise SystemError

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rmdir", killed)
        with pytest.raises(SystemError):
            environments("remove", "mine", "--yes")
    assert "mine" in entries(home)

    assert environments("remove", "mine", "--yes") == 0

    assert list(folder.parent.iterdir()) == []
    assert entries(home) == {}


def test_a_folder_that_a_kernel_keeps_is_named_and_stays_an_environment(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def kept(path: Path) -> None:
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    monkeypatch.setattr(Path, "rmdir", kept)

    assert environments("remove", "mine", "--yes") == 1

    assert "Shut down the kernels that use it" in capsys.readouterr().err
    assert "mine" in entries(home)


def test_of_a_folder_that_is_a_link_the_link_goes_and_the_files_stay(
    home: Path, folder: Path
) -> None:
    elsewhere = folder.rename(home / "elsewhere")
    folder.symlink_to(elsewhere)

    assert environments("remove", "mine", "--yes") == 0

    assert list(folder.parent.iterdir()) == []
    assert (elsewhere / "bin/python").exists()
