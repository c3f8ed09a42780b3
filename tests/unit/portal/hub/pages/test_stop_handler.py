"""A stop of a session that runs, starts, or does neither."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.web import HTTPError

from portal.hub.pages import stop_handler
from portal.hub.pages.stop_handler import stop_session
from spawner.session.session_end import SessionEnd


class Handler:
    """What a stop asks of JupyterHub's handlers: sessions of ada, by name."""

    def __init__(self, **spawners: Any) -> None:
        self._ada = SimpleNamespace(name="ada", spawners=spawners)
        self.stopped: list[str] = []

    def find_user(self, name: str) -> Any:
        return self._ada if name == "ada" else None

    async def stop_single_user(self, user: Any, name: str) -> None:
        # As JupyterHub, which refuses while a start is pending.
        assert not user.spawners[name].pending
        self.stopped.append(f"{user.name}/{name}")


def session(pending: str | None, ending: SessionEnd | None = None) -> Any:
    return SimpleNamespace(pending=pending, ending=ending)


class StartingSpawner:
    """A session whose start ends, or does not, when it is cancelled."""

    ending = None

    def __init__(self, *, ends: bool) -> None:
        self._spawn_pending = True
        self._ends = ends
        self._spawn_future = asyncio.ensure_future(self._start())

    async def _start(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self._spawn_pending = not self._ends

    @property
    def pending(self) -> str | None:
        return "spawn" if self._spawn_pending else None


async def test_a_running_session_is_stopped_and_no_other() -> None:
    handler = Handler(one=session(None), two=session(None))

    await stop_session(handler, "ada", "two")

    assert handler.stopped == ["ada/two"]


async def test_a_start_is_cancelled_before_its_session_is_stopped() -> None:
    spawner = StartingSpawner(ends=True)
    handler = Handler(one=spawner)
    # The start begins.
    await asyncio.sleep(0)

    await stop_session(handler, "ada", "one")

    assert spawner._spawn_future.cancelled()
    assert handler.stopped == ["ada/one"]


async def test_a_start_that_cannot_be_cancelled_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop_handler, "_CANCEL_TIMEOUT_S", 0.05)
    handler = Handler(one=StartingSpawner(ends=False))

    with pytest.raises(HTTPError) as caught:
        await stop_session(handler, "ada", "one")

    assert caught.value.status_code == 503
    assert handler.stopped == []


async def test_a_session_that_stops_already_is_left_to_do_so() -> None:
    handler = Handler(one=session("stop"))

    await stop_session(handler, "ada", "one")

    assert handler.stopped == []


@pytest.mark.parametrize(("user", "name"), [("ada", "two"), ("grace", "one"), ("ada", "")])
async def test_a_session_that_is_not_there_is_no_other_one(user: str, name: str) -> None:
    handler = Handler(one=session(None))

    with pytest.raises(HTTPError) as caught:
        await stop_session(handler, user, name)

    assert caught.value.status_code == 404
    assert handler.stopped == []


async def test_a_stop_that_leaves_the_job_running_is_no_success() -> None:
    handler = Handler(one=session(None, SessionEnd.of_uncancelled(42)))

    with pytest.raises(HTTPError, match="job 42 could not be cancelled") as caught:
        await stop_session(handler, "ada", "one")

    assert caught.value.status_code == 502


async def test_a_stop_after_which_no_job_runs_is_one() -> None:
    handler = Handler(one=session(None, SessionEnd.of_idle(42)))

    await stop_session(handler, "ada", "one")

    assert handler.stopped == ["ada/one"]
