"""Copies of the hub's database while its last changes are still in SQLite's write-ahead log."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from datetime import datetime
from pathlib import Path

import pytest

from portal.hub.settings.hub import HubSettings
from portal.site.commands.backup import back_up, restore


@pytest.fixture
def hub(tmp_path: Path) -> HubSettings:
    (tmp_path / "state").mkdir()
    return HubSettings(address="10.77.0.1", state_dir=tmp_path / "state")


def write_and_die(hub: HubSettings, words: str) -> None:
    """Write as a hub that is killed before its changes are in the database's own file."""
    path = hub.sqlite_path
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE IF NOT EXISTS words (word)")
        database.execute("DELETE FROM words")
        database.execute("INSERT INTO words VALUES (?)", (words,))
        database.commit()
        kept = path.parent.parent / "kept"
        shutil.copytree(path.parent, kept)
    shutil.rmtree(path.parent)
    kept.rename(path.parent)
    assert Path(f"{path}-wal").stat().st_size


def read_word(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as database:
        (word,) = database.execute("SELECT word FROM words").fetchone()
    return str(word)


def test_a_copy_is_one_file_with_the_last_changes(hub: HubSettings) -> None:
    write_and_die(hub, "first")

    copy = back_up(hub, datetime.now())

    assert read_word(copy) == "first"
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]


def test_a_restored_database_has_nothing_of_the_one_before(hub: HubSettings) -> None:
    write_and_die(hub, "first")
    copy = back_up(hub, datetime.now())
    write_and_die(hub, "second")

    restore(hub, copy)

    assert read_word(hub.sqlite_path) == "first"
