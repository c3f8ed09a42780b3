"""A database that another process holds, or whose disk is full: what is said, and who waits."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker
from tornado.web import HTTPError

from spawner import unwritable_database
from spawner.unwritable_database import (
    DatabaseFullError,
    DatabaseLockedError,
    is_full,
    is_locked,
    register,
    wait_for_lock,
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Session]:
    register()
    engine = create_engine(
        f"sqlite:///{tmp_path}/hub.sqlite", connect_args={"check_same_thread": False}
    )
    with sessionmaker(engine)() as session:
        session.execute(text("CREATE TABLE rows (text)"))
        session.commit()
        yield session
    engine.dispose()


@contextlib.contextmanager
def another_process(folder: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(folder / "hub.sqlite")) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield other


def test_a_write_waits_for_no_disk_but_loses_nothing_with_the_process(db: Session) -> None:
    assert db.execute(text("PRAGMA journal_mode")).scalar() == "wal"
    # In its log SQLite calls this NORMAL: the disk is awaited when the log goes into the database.
    assert db.execute(text("PRAGMA synchronous")).scalar() == 1


def test_a_write_ends_at_once_as_503_with_the_time_to_try_again(
    db: Session, tmp_path: Path
) -> None:
    with another_process(tmp_path):
        before = time.monotonic()
        with pytest.raises(DatabaseLockedError) as caught:
            db.execute(text("INSERT INTO rows VALUES ('a')"))
        took_s = time.monotonic() - before
        db.rollback()

    assert caught.value.status_code == 503
    assert caught.value.headers == {"Retry-After": "5"}
    assert "Another program holds the portal's database" in caught.value.jupyterhub_message
    assert took_s < 2, "pysqlite alone waits 5 s"
    db.execute(text("INSERT INTO rows VALUES ('b')"))


def test_reading_goes_on_meanwhile(db: Session, tmp_path: Path) -> None:
    with another_process(tmp_path):
        assert db.execute(text("SELECT count(*) FROM rows")).scalar() == 0


async def test_a_wait_ends_when_the_other_process_lets_go(db: Session, tmp_path: Path) -> None:
    with another_process(tmp_path) as other:
        waits = asyncio.ensure_future(wait_for_lock(db, 60))
        assert is_locked(db)
        assert not waits.done()
        other.rollback()
        await waits
    assert not is_locked(db)


async def test_a_wait_that_takes_too_long_is_told(db: Session, tmp_path: Path) -> None:
    with another_process(tmp_path), pytest.raises(DatabaseLockedError):
        await wait_for_lock(db, 0)


def test_a_change_of_the_hub_itself_does_not_lock_it_out(db: Session) -> None:
    db.execute(text("INSERT INTO rows VALUES ('a')"))

    assert not is_locked(db)


def test_another_database_is_not_asked() -> None:
    with sessionmaker(create_engine("sqlite:///:memory:"))() as session:
        assert not is_locked(session)


def test_the_file_is_complete_after_a_hub_that_was_killed(tmp_path: Path) -> None:
    register()
    path = tmp_path / "hub.sqlite"
    killed = sqlite3.connect(path)
    killed.execute("PRAGMA journal_mode = WAL")
    killed.execute("CREATE TABLE rows (text)")
    killed.commit()
    with create_engine(f"sqlite:///{path}").connect():
        copy = tmp_path / "copy.sqlite"
        copy.write_bytes(path.read_bytes())
    with contextlib.closing(sqlite3.connect(copy)) as database:
        assert database.execute("SELECT count(*) FROM rows").fetchone() == (0,)
    killed.close()


def test_a_write_without_room_is_told_as_507_in_a_sentence(tmp_path: Path) -> None:
    register()
    engine = create_engine(f"sqlite:///{tmp_path}/hub.sqlite")
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE rows (text)"))
        connection.execute(text("PRAGMA max_page_count = 4"))
        with pytest.raises(DatabaseFullError) as caught:
            connection.execute(text("INSERT INTO rows VALUES (hex(zeroblob(100000)))"))
        connection.rollback()
        assert connection.execute(text("SELECT count(*) FROM rows")).scalar() == 0
    engine.dispose()

    error = caught.value
    assert error.status_code == 507
    assert "disk of the portal's database is full" in error.jupyterhub_message
    assert isinstance(error, SQLAlchemyError), "JupyterHub rolls back"
    assert isinstance(error, HTTPError), "JupyterHub answers with its status"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("database or disk is full", True),
        ('could not extend file "base/1": No space left on device', True),
        ("database is locked", False),
        ("disk I/O error", False),
    ],
)
def test_only_a_lack_of_room_counts(words: str, expected: bool, tmp_path: Path) -> None:
    assert is_full(Exception(words), f"{tmp_path}/hub.sqlite") is expected


def test_an_error_of_sqlite_on_a_full_disk_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = SimpleNamespace(f_bavail=1, f_frsize=4096)
    monkeypatch.setattr(unwritable_database.os, "statvfs", lambda path: full)

    assert is_full(Exception("disk I/O error"), f"{tmp_path}/hub.sqlite")
    assert not is_full(Exception("disk I/O error"), None)
