"""Files in folders of an unprivileged account: root follows no link there."""

import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.common.files import (
    ensure_file,
    ensure_folder,
    ensure_link,
    ensure_secret,
    read_plain,
    remove_link,
)

ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("of somebody else")
    path.chmod(0o640)
    return path


def assert_untouched(victim: Path) -> None:
    assert victim.read_text() == "of somebody else"
    assert victim.stat().st_mode & 0o7777 == 0o640


def test_a_secret_is_kept_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    assert ensure_secret(path, "first", user=ME) == "first"
    path.chmod(0o644)

    assert ensure_secret(path, "second", user=ME) == "first"
    assert path.stat().st_mode & 0o7777 == 0o600


@pytest.mark.parametrize("plant", [os.symlink, os.link])
def test_a_planted_link_is_replaced_by_a_new_secret(
    tmp_path: Path, victim: Path, plant: Callable[[Path, Path], None]
) -> None:
    path = tmp_path / "token"
    plant(victim, path)

    assert ensure_secret(path, "mine", user=ME) == "mine"
    assert not path.is_symlink()
    assert path.read_text() == "mine\n"
    assert_untouched(victim)


def test_a_planted_link_to_the_same_content_is_replaced(tmp_path: Path, victim: Path) -> None:
    path = tmp_path / "settings"
    path.symlink_to(victim)

    assert ensure_file(path, "of somebody else", mode=0o600, user=ME)
    assert not path.is_symlink()
    assert_untouched(victim)


def test_a_link_in_the_place_of_the_draft_is_not_written_through(
    tmp_path: Path, victim: Path
) -> None:
    (tmp_path / ".settings.new").symlink_to(victim)

    ensure_file(tmp_path / "settings", "mine", user=ME)

    assert (tmp_path / "settings").read_text() == "mine"
    assert_untouched(victim)


def test_a_pipe_in_the_place_of_a_file_is_replaced_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    os.mkfifo(path)

    assert read_plain(path) is None
    assert ensure_file(path, "mine", user=ME)
    assert read_plain(path) == "mine"


def test_a_file_that_is_right_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    assert ensure_file(path, "mine", user=ME)
    assert not ensure_file(path, "mine", mode=0o600, user=ME)
    assert path.stat().st_mode & 0o7777 == 0o600


def test_a_link_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir(mode=0o700)
    (tmp_path / "state").symlink_to(tmp_path / "other")

    with pytest.raises(DeployError, match="state is not a folder"):
        ensure_folder(tmp_path / "state", mode=0o777, user=ME)

    assert (tmp_path / "other").stat().st_mode & 0o7777 == 0o700


def test_a_link_is_made_once_and_removed_again(tmp_path: Path, victim: Path) -> None:
    path = tmp_path / "bin" / "dsportal"

    assert ensure_link(path, victim)
    assert not ensure_link(path, victim)
    assert path.read_text() == "of somebody else"

    remove_link(path, victim)
    assert not path.is_symlink()
    assert_untouched(victim)


def test_a_program_of_that_name_that_is_not_ours_is_left_alone(
    tmp_path: Path, victim: Path
) -> None:
    other = tmp_path / "other"
    other.symlink_to(tmp_path / "not-there")

    for path in (victim, other):
        assert not ensure_link(path, tmp_path)
        remove_link(path, tmp_path)

    assert_untouched(victim)
    assert other.is_symlink()
