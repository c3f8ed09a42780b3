"""Environments are removed with all of their files, whatever happens meanwhile."""

import errno
import os
import shutil
import signal
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


def test_a_removal_that_is_told_to_end_deletes_everything_first(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete = shutil.rmtree

    def told_to_end(path: Path) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        delete(path)

    monkeypatch.setattr(shutil, "rmtree", told_to_end)

    assert environments("remove", "mine", "--yes") == 0

    assert list(folder.parent.iterdir()) == []
    assert entries(home) == {}


def test_what_a_killed_removal_has_left_goes_with_the_next(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path) -> None:
        raise SystemError

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(SystemError):
            environments("remove", "mine", "--yes")
    # The name is free again.
    assert environments("new", "mine", "--like", "pytorch", "tiny") == 0

    assert environments("remove", "mine", "--yes") == 0

    assert list(folder.parent.iterdir()) == []
    assert entries(home) == {}


def test_a_folder_that_a_kernel_keeps_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def kept(path: Path) -> None:
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    monkeypatch.setattr(shutil, "rmtree", kept)

    assert environments("remove", "mine", "--yes") == 0

    said = capsys.readouterr().out
    assert "Removed mine." in said
    assert "Shut the kernel down" in said
    assert not folder.exists()


def test_of_a_folder_that_is_a_link_the_link_goes_and_the_files_stay(
    home: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = folder.rename(home / "elsewhere")
    folder.symlink_to(elsewhere)

    assert environments("remove", "mine", "--yes") == 0

    assert "Shut the kernel down" not in capsys.readouterr().out
    assert list(folder.parent.iterdir()) == []
    assert (elsewhere / "bin/python").exists()


def test_an_entry_that_cannot_be_removed_keeps_its_files(
    home: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("portal.environments.registry.write_whole", fail)

    assert environments("remove", "mine", "--yes") == 1

    assert "cannot be written: No space left" in capsys.readouterr().err
    assert "mine" in entries(home)
    assert (folder / "bin/python").exists()
