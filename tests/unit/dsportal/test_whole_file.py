"""A file has its old content or its new one, and the permissions that were asked for."""

import os
import stat
from pathlib import Path

import pytest

from dsportal.whole_file import write_whole


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("survives", [False, True])
def test_a_file_is_made_and_replaced_and_nothing_else_is_left(
    tmp_path: Path, survives: bool
) -> None:
    path = tmp_path / "state.json"

    write_whole(path, b"old", survives_power_loss=survives)
    write_whole(path, b"new", survives_power_loss=survives)

    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_key_is_private_from_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    replace = os.replace

    def look_and_replace(new: Path, path: Path) -> None:
        seen.append(mode_of(new))
        replace(new, path)

    monkeypatch.setattr(os, "replace", look_and_replace)
    (tmp_path / "key").touch(mode=0o644)

    write_whole(tmp_path / "key", b"secret", mode=0o600)

    assert seen == [0o600]
    assert mode_of(tmp_path / "key") == 0o600


def test_a_link_is_replaced_and_what_it_points_to_is_untouched(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("theirs")
    link.symlink_to(victim)

    write_whole(link, b"ours")

    assert victim.read_text() == "theirs"
    assert not link.is_symlink()


def test_a_failure_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.json"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)

    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
