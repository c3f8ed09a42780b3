"""A database that cannot be written: what is said, and what becomes of a stop meanwhile."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError
from tornado.web import HTTPError

from spawner.hub import unwritable_database
from spawner.hub.unwritable_database import StateDiskFullError, is_full, register
from tests.support.eventually import eventually_async


def test_a_write_without_room_is_told_as_507_in_a_sentence(tmp_path: Path) -> None:
    register()
    engine = create_engine(f"sqlite:///{tmp_path}/hub.sqlite")
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE rows (text)"))
        connection.execute(text("PRAGMA max_page_count = 4"))
        with pytest.raises(StateDiskFullError) as caught:
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


def in_memory() -> Any:
    """Return the engine of a database that nobody else can lock."""
    return SimpleNamespace(url=make_url("sqlite://"))


class Spawners(dict[str, Any]):
    """As JupyterHub's: one that was thrown away is made anew from its row."""

    def __init__(self, spawner: Any) -> None:
        super().__init__({"": spawner})
        self._spawner = spawner

    def __missing__(self, name: str) -> Any:
        self[name] = SimpleNamespace(**vars(self._spawner))
        return self[name]


class FakeUser:
    """A user whose session JupyterHub stops, on a disk that is full for a while."""

    def __init__(
        self, *, n_failures: int, exit_status: int | None = 1, is_thrown_away: bool = False
    ) -> None:
        self.n_failures = n_failures
        self.is_thrown_away = is_thrown_away
        self.n_asked = self.n_rolled_back = 0
        self.db = SimpleNamespace(rollback=self._roll_back, is_active=True, get_bind=in_memory)
        self.unrouted: list[str] = []
        self.settings = {"proxy": SimpleNamespace(delete_user=self._delete_route)}

        async def poll() -> int | None:
            return exit_status

        self.spawner = SimpleNamespace(
            _stop_pending=False,
            pending=None,
            server="a row",
            poll=poll,
            log=logging.getLogger("hub"),
        )
        self.spawners = Spawners(self.spawner)

    async def _delete_route(self, user: Any, name: str) -> None:
        assert user.spawner.server is None, "the end is kept first"
        self.unrouted.append(name)

    def _roll_back(self) -> None:
        self.n_rolled_back += 1


async def stop(user: Any, server_name: str = "") -> None:
    """Do as JupyterHub does, which keeps the mark where a commit fails."""
    user.n_asked += 1
    user.spawner._stop_pending = True
    if user.n_asked <= user.n_failures:
        if user.is_thrown_away:
            user.spawners.clear()
        raise StateDiskFullError
    user.spawner._stop_pending = False
    user.spawner.server = None
    user.spawners.clear()


@pytest.mark.parametrize("is_thrown_away", [False, True])
async def test_a_stop_that_could_not_be_kept_is_tried_again_until_there_is_room(
    monkeypatch: pytest.MonkeyPatch, is_thrown_away: bool
) -> None:
    monkeypatch.setattr(unwritable_database, "RETRY_S", 0.0)
    user = FakeUser(n_failures=3, is_thrown_away=is_thrown_away)

    with pytest.raises(StateDiskFullError):
        await unwritable_database._stopped_in_the_end(stop)(user)
    assert not user.spawner._stop_pending, "nobody stays pending"

    async def is_done() -> bool:
        return user.spawner.server is None and not unwritable_database._retries

    await eventually_async(is_done, 10)
    assert (user.n_asked, user.n_rolled_back) == (4, 3)
    assert user.unrouted == [""], "the proxy leads nobody to what has ended"


async def test_a_session_whose_job_still_runs_is_left_to_its_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unwritable_database, "RETRY_S", 0.0)
    user = FakeUser(n_failures=1, exit_status=None)

    with pytest.raises(StateDiskFullError):
        await unwritable_database._stopped_in_the_end(stop)(user)

    async def is_left() -> bool:
        return not unwritable_database._retries

    await eventually_async(is_left, 10)
    assert user.n_asked == 1


async def test_who_asks_is_known_although_that_cannot_be_kept() -> None:
    class Handler:
        db = SimpleNamespace(rollback=lambda: None, get_bind=in_memory)

        def _record_activity(self, *_: object) -> bool:
            return True

        async def get_current_user(self) -> str:
            self._jupyterhub_user = None
            if self._record_activity():
                raise StateDiskFullError
            return "ada"

    get_current_user = unwritable_database._known_without_a_note(Handler.get_current_user)

    assert await get_current_user(Handler()) == "ada"
