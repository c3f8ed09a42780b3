"""The links in the home to the site's storages."""

import os
from pathlib import Path

import pytest

from portal.server.storage.links import link_storage


@pytest.fixture
def isilon(tmp_path: Path) -> Path:
    folder = tmp_path / "mount" / "isilon"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_the_shared_storage_is_linked(isilon: Path, home: Path) -> None:
    assert link_storage("isilon", isilon, home) == ""
    assert link_storage("isilon", isilon, home) == "", "another session finds it in order"
    assert (home / "isilon").resolve() == isilon


# A closed folder and a dead file server answer as the second does: with an error.
@pytest.mark.parametrize("name", ["nowhere", "x" * 300])
def test_a_storage_that_is_not_mounted_is_reported(home: Path, tmp_path: Path, name: str) -> None:
    sentence = link_storage("isilon", tmp_path / name, home)

    assert sentence.startswith(f"The shared storage, {tmp_path / name}, is not mounted")
    assert not os.path.lexists(home / "isilon")


def test_a_folder_of_the_users_own_is_left_alone(isilon: Path, home: Path) -> None:
    (home / "isilon").mkdir()

    assert "was left alone" in link_storage("isilon", isilon, home)
    assert (home / "isilon").is_dir()
    assert not (home / "isilon").is_symlink()


def test_a_link_of_the_users_own_is_left_alone(isilon: Path, home: Path, tmp_path: Path) -> None:
    (home / "isilon").symlink_to(tmp_path)

    assert "was left alone" in link_storage("isilon", isilon, home)
    assert (home / "isilon").resolve() == tmp_path


def test_a_link_to_a_mount_that_moved_is_set_right(isilon: Path, home: Path) -> None:
    (home / "isilon").symlink_to(isilon.with_name("where-it-was"))

    assert link_storage("isilon", isilon, home) == ""
    assert (home / "isilon").resolve() == isilon


def test_a_home_that_cannot_be_written_gets_a_sentence(isilon: Path) -> None:
    assert "could not be made" in link_storage("isilon", isilon, Path("/proc"))
