"""Sessions that a restarted hub takes up, or ends."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from spawner.session import restore
from spawner.session.restore import keep, resume_start
from tests.support.eventually import eventually_async


class FakeSpawner:
    """One session of a hub that has just been started."""

    def __init__(self, *, is_blocked: bool = False) -> None:
        self.done: list[str] = []
        self.name = "second"
        self.log = logging.getLogger("hub")
        self.is_hidden = self.is_left_alone = False
        self._check_pending = False
        self._spawn_future: Any = None
        self._spawn_pending = self._start_pending = self._proxy_pending = False
        self.server = SimpleNamespace(proto="", ip="", port=0)
        self.exit_status: int | None = None
        self.poll_error: Exception | None = None
        self.served = asyncio.Event()
        self.url: str | None = None
        self.callbacks: list[tuple[Any, ...]] = []
        self.user = SimpleNamespace(
            name="ada",
            authenticator=SimpleNamespace(blocked_users={"ada"} if is_blocked else set()),
            settings={"proxy": SimpleNamespace(add_user=self.add, delete_user=self.delete)},
            stop=self.stop,
            db=SimpleNamespace(commit=lambda: self.done.append("saved")),
            _wait_up=self.wait_up,
        )

    async def add(self, user: Any, name: str) -> None:
        assert user is self.user
        self.done.append(f"route of {name} added, pending {self._proxy_pending}")

    async def delete(self, user: Any, name: str) -> None:
        assert user is self.user
        self.done.append(f"route of {name} deleted")

    async def stop(self, name: str) -> None:
        self.done.append(f"{name} stopped")

    async def wait_up(self, spawner: FakeSpawner) -> None:
        assert spawner is self
        self.done.append("server answers")

    async def poll(self) -> int | None:
        if self.poll_error is not None:
            raise self.poll_error
        return self.exit_status

    async def resume(self) -> str:
        if self.url is None:
            raise RuntimeError("the job ended first")
        await self.served.wait()
        return self.url

    def add_poll_callback(self, *arguments: Any) -> None:
        self.callbacks.append(arguments)

    def start_polling(self) -> None:
        self.done.append("goes on")


async def turns() -> None:
    """Let everything run that waits for nothing."""
    for _ in range(20):
        await asyncio.sleep(0)


async def outcome_of(spawner: FakeSpawner) -> list[str]:
    async def is_decided() -> bool:
        return spawner.done[-1:] in (["goes on"], ["second stopped"])

    await eventually_async(is_decided, 10)
    return spawner.done


async def test_a_session_whose_job_runs_goes_on() -> None:
    spawner = FakeSpawner()

    keep(spawner)  # type: ignore[arg-type]

    assert await outcome_of(spawner) == ["goes on"]
    assert spawner.is_left_alone, "JupyterHub's own check would stop it"
    ((drop, *arguments),) = spawner.callbacks
    await drop(*arguments)
    assert spawner.done[1:] == ["route of second deleted", "second stopped"]


@pytest.mark.parametrize("is_blocked", [True, False], ids=["user is blocked", "job is over"])
async def test_a_session_of_a_blocked_user_or_of_a_job_that_is_over_ends(
    is_blocked: bool, caplog: pytest.LogCaptureFixture
) -> None:
    spawner = FakeSpawner(is_blocked=is_blocked)
    spawner.exit_status = None if is_blocked else 1

    keep(spawner)  # type: ignore[arg-type]

    assert await outcome_of(spawner) == ["route of second deleted", "second stopped"]
    why = "ends: its user is blocked" if is_blocked else "ended while the hub was down"
    assert caplog.messages == [f"The session of second {why}"]


async def test_nothing_is_decided_before_the_hubs_own_check_has_ended() -> None:
    spawner = FakeSpawner()
    spawner._check_pending = True

    keep(spawner)  # type: ignore[arg-type]
    await turns()
    assert spawner.done == []

    spawner._check_pending = False
    assert await outcome_of(spawner) == ["goes on"]


async def test_a_check_of_the_hub_that_does_not_end_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "_CHECK_TIMEOUT_S", 0.01)
    spawner = FakeSpawner()
    spawner._check_pending = True

    keep(spawner)  # type: ignore[arg-type]

    async def is_told() -> bool:
        return bool(caplog.messages)

    await eventually_async(is_told, 10, every_s=0.01)
    assert caplog.messages == [
        "second could not be taken up: JupyterHub's check at start-up did not end"
    ]
    assert spawner.done == []


async def test_a_session_that_cannot_be_looked_at_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    spawner = FakeSpawner()
    spawner.poll_error = RuntimeError("no database")

    keep(spawner)  # type: ignore[arg-type]
    await turns()

    assert caplog.messages == ["second could not be taken up: no database"]
    assert spawner.done == []


@pytest.mark.parametrize("start", [keep, resume_start])
async def test_a_hub_that_stops_meanwhile_logs_no_failure(
    caplog: pytest.LogCaptureFixture, start: Any
) -> None:
    spawner = FakeSpawner()
    spawner.url = "https://n1:31000"
    before = asyncio.all_tasks()

    start(spawner)
    await asyncio.sleep(0)
    for task in asyncio.all_tasks() - before:
        task.cancel()
    await turns()

    assert caplog.messages == []
    assert spawner._spawn_future is None
    assert not spawner._spawn_pending
    assert not spawner.is_hidden


async def test_a_start_goes_on_after_the_restart_as_if_nothing_had_happened() -> None:
    spawner = FakeSpawner()
    spawner.url = "https://n1:31000"
    spawner._check_pending = True

    resume_start(spawner)  # type: ignore[arg-type]
    assert spawner.is_hidden, "JupyterHub's own check leaves it alone"
    assert spawner._spawn_pending
    assert spawner._start_pending
    spawner._check_pending = False

    async def is_shown() -> bool:
        return not spawner.is_hidden

    await eventually_async(is_shown, 10, every_s=0.01)
    assert spawner._spawn_pending
    spawner.served.set()

    assert await outcome_of(spawner) == [
        "saved",
        "server answers",
        "route of second added, pending True",
        "goes on",
    ]
    server = spawner.server
    assert (server.proto, server.ip, server.port) == ("https", "n1", 31000)
    await turns()
    assert not spawner._proxy_pending
    assert not spawner._spawn_pending
    assert not spawner._start_pending
    assert spawner._spawn_future is None
    ((drop, *arguments),) = spawner.callbacks
    await drop(*arguments)
    assert spawner.done[-2:] == ["route of second deleted", "second stopped"]


async def test_a_start_that_fails_after_the_restart_leaves_no_job_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    spawner = FakeSpawner()

    resume_start(spawner)  # type: ignore[arg-type]

    assert await outcome_of(spawner) == ["second stopped"]
    with pytest.raises(RuntimeError, match="ended first"):
        await spawner._spawn_future
    await asyncio.sleep(0)
    assert not spawner.is_hidden
    assert spawner._spawn_future is not None, "the page says why"
    assert caplog.messages == ["second did not start: the job ended first"]
