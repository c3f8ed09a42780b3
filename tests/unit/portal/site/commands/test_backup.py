"""Copies of the hub's database while its last changes are still in SQLite's write-ahead log."""

import contextlib
import shutil
import socket
import sqlite3
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from portal.cli import main
from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import Settings
from portal.site.commands import backup
from portal.site.commands.backup import (
    MOST_COPIES,
    back_up,
    describe_copy,
    refuse_running_hub,
    restore,
)
from spawner.errors import SiteError


@pytest.fixture
def hub(tmp_path: Path) -> HubSettings:
    (tmp_path / "state").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return HubSettings(
        address="127.0.0.1", internal_tls=False, api_port=port, state_dir=tmp_path / "state"
    )


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


def make_database(hub: HubSettings, *users: str) -> None:
    with contextlib.closing(sqlite3.connect(hub.sqlite_path)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS spawners (server_id)")
        database.execute("CREATE TABLE IF NOT EXISTS users (name)")
        database.executemany("INSERT INTO users VALUES (?)", [(user,) for user in users])


def users_of(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as database:
        return [name for (name,) in database.execute("SELECT name FROM users")]


def test_a_restored_database_has_nothing_of_the_one_before_which_is_kept(hub: HubSettings) -> None:
    write_and_die(hub, "first")
    copy = back_up(hub, datetime(2026, 1, 1))
    write_and_die(hub, "second")

    kept = restore(hub, copy, datetime(2026, 1, 2))

    assert read_word(hub.sqlite_path) == "first"
    assert kept is not None
    assert read_word(kept) == "second"


def test_what_is_no_copy_changes_nothing(hub: HubSettings, tmp_path: Path) -> None:
    make_database(hub, "ada")
    no_copy = tmp_path / "no.sqlite"
    no_copy.write_bytes(b"nothing of a database" * 100)

    for wrong in (no_copy, tmp_path / "gone.sqlite"):
        with pytest.raises(SiteError):
            describe_copy(hub, wrong)
        with pytest.raises(SiteError):
            restore(hub, wrong, datetime(2026, 1, 2))

    assert users_of(hub.sqlite_path) == ["ada"]


def test_the_oldest_copy_can_be_restored(hub: HubSettings) -> None:
    make_database(hub, "ada")
    oldest = back_up(hub, datetime(2026, 1, 1))
    make_database(hub, "grace")
    for day in range(2, MOST_COPIES + 1):
        back_up(hub, datetime(2026, 1, day))

    restore(hub, oldest, datetime(2026, 2, 1))

    assert users_of(hub.sqlite_path) == ["ada"]
    assert oldest.exists(), "and once more"


def test_a_broken_database_is_kept_as_it_is_and_does_not_stand_in_the_way(
    hub: HubSettings,
) -> None:
    make_database(hub, "ada")
    copy = back_up(hub, datetime(2026, 1, 1))
    hub.sqlite_path.write_bytes(b"noise" * 2000)

    refuse_running_hub(hub)
    kept = restore(hub, copy, datetime(2026, 1, 2))

    assert users_of(hub.sqlite_path) == ["ada"]
    assert kept is not None
    assert kept.read_bytes() == b"noise" * 2000


def test_on_a_new_host_there_is_nothing_to_keep(hub: HubSettings, tmp_path: Path) -> None:
    make_database(hub, "ada")
    copy = back_up(hub, datetime(2026, 1, 1)).rename(tmp_path / "copy.sqlite")
    hub.sqlite_path.unlink()

    assert restore(hub, copy, datetime(2026, 1, 2)) is None
    assert users_of(hub.sqlite_path) == ["ada"]


@pytest.fixture
def command(hub: HubSettings, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> HubSettings:
    """Return the hub of the settings that `dsportal backup` reads, with a database."""
    monkeypatch.setattr(backup, "load_settings", lambda _: replace(settings, hub=hub))
    monkeypatch.setattr(backup, "become_hub_account", lambda _: "dsportal")
    make_database(hub, "ada")
    return hub


def test_the_command_says_what_it_restored_and_where_the_database_before_is(
    command: HubSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = back_up(command, datetime(2026, 1, 1))
    make_database(command, "grace")

    assert main(["backup", "--restore", str(copy), "--dry-run"]) == 0
    assert users_of(command.sqlite_path) == ["ada", "grace"]
    assert main(["backup", "--restore", str(copy), "--yes"]) == 0

    kept, restored = capsys.readouterr().out.splitlines()[-2:]
    assert users_of(Path(kept.removeprefix("copied to "))) == ["ada", "grace"]
    assert restored.startswith(f"restored {copy} of ")
    assert restored.endswith("with 1 user and 0 sessions")
    assert users_of(command.sqlite_path) == ["ada"]


def test_under_a_running_hub_nothing_is_restored(
    command: HubSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["backup", "--yes", "--restore", str(back_up(command, datetime(2026, 1, 1)))]
    make_database(command, "grace")

    # It does not have to answer.
    with socket.create_server(("127.0.0.1", command.api_port)):
        assert main(words) == 1
    assert "The hub is running. Stop it" in capsys.readouterr().err
    # Nor to listen: it may be starting.
    with contextlib.closing(sqlite3.connect(command.sqlite_path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("SELECT * FROM users").fetchall()
        assert main(words) == 1
    assert f"{command.sqlite_path} open" in capsys.readouterr().err
    assert users_of(command.sqlite_path) == ["ada", "grace"]
