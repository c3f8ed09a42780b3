"""How many checkpoints are kept, and for how long."""

import time
from pathlib import Path

import pytest

from portal.server.files import checkpoints
from portal.server.files.checkpoints import prune


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("old/a.txt", "new/b.txt"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text("12345")
        # The clock of ctime, by which they are told apart, ticks every few milliseconds.
        before = path.stat().st_ctime_ns
        while (tmp_path / "old").stat().st_ctime_ns <= before:
            (tmp_path / "old").touch()
    return tmp_path


def kept(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_recent_ones_stay(folder: Path) -> None:
    prune(folder)

    assert kept(folder) == {"old", "old/a.txt", "new", "new/b.txt"}


def test_the_oldest_of_too_many_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_MOST_BYTES", 9)

    prune(folder)
    prune(folder)

    assert kept(folder) == {"new", "new/b.txt"}


def test_all_go_that_are_older_than_90_days(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(checkpoints.time, "time", lambda: now + 91 * 24 * 3600)

    prune(folder)
    prune(folder)

    assert kept(folder) == set()
