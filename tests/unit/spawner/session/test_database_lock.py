"""A database that another process holds: what is said, and who waits for how long."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session, sessionmaker

from spawner.session import database_lock
from spawner.session.database_lock import DatabaseLockedError, is_writable, wait_until_writable


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Session]:
    database_lock.listen()
    engine = create_engine(
        f"sqlite:///{tmp_path}/hub.sqlite", connect_args={"check_same_thread": False}
    )
    with sessionmaker(engine)() as session:
        session.execute(text("CREATE TABLE rows (text)"))
        session.commit()
        yield session
    engine.dispose()
    database_lock._probes.pop(f"{tmp_path}/hub.sqlite", None)


@contextlib.contextmanager
def another_process(folder: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(folder / "hub.sqlite")) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield other


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
        waits = asyncio.ensure_future(wait_until_writable(db, 60))
        assert not is_writable(db)
        assert not waits.done()
        other.rollback()
        await waits
    assert is_writable(db)


async def test_a_wait_that_takes_too_long_is_told(db: Session, tmp_path: Path) -> None:
    with another_process(tmp_path), pytest.raises(DatabaseLockedError):
        await wait_until_writable(db, 0)


def test_a_change_of_the_hub_itself_does_not_lock_it_out(db: Session) -> None:
    db.execute(text("INSERT INTO rows VALUES ('a')"))

    assert is_writable(db)


def test_another_database_is_not_asked() -> None:
    with sessionmaker(create_engine("sqlite:///:memory:"))() as session:
        assert is_writable(session)


def test_the_file_is_complete_after_a_hub_that_was_killed(tmp_path: Path) -> None:
    database_lock.listen()
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
