"""Sessions that a restarted hub takes up, or ends."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from spawner.session.restore import keep, resume_start
from tests.support.eventually import eventually_async


class FakeSpawner:
    """One session of a hub that has just been started."""

    def __init__(self, *, is_blocked: bool = False) -> None:
        self.done: list[str] = []
        self.name = ""
        self.log = logging.getLogger("hub")
        self.is_hidden = self.is_left_alone = False
        self._check_pending = False
        self._spawn_future: Any = None
        self.exit_status: int | None = None
        self.callbacks = 0

        async def note(what: str) -> None:
            self.done.append(what)

        proxy = SimpleNamespace(delete_user=lambda user, name: note("route deleted"))
        self.user = SimpleNamespace(
            name="ada",
            authenticator=SimpleNamespace(blocked_users={"ada"} if is_blocked else set()),
            settings={"proxy": proxy},
            stop=lambda name: note("stopped"),
        )

    async def poll(self) -> int | None:
        return self.exit_status

    async def resume(self) -> tuple[str, int]:
        raise RuntimeError("the job ended first")

    def add_poll_callback(self, *arguments: Any) -> None:
        self.callbacks += 1

    def start_polling(self) -> None:
        self.done.append("goes on")


async def outcome_of(spawner: FakeSpawner) -> list[str]:
    async def is_decided() -> bool:
        return spawner.done[-1:] in (["goes on"], ["stopped"])

    await eventually_async(is_decided, 10)
    return spawner.done


async def test_a_session_whose_job_runs_goes_on() -> None:
    spawner = FakeSpawner()

    keep(spawner)  # type: ignore[arg-type]

    assert await outcome_of(spawner) == ["goes on"]
    assert spawner.callbacks == 1


@pytest.mark.parametrize("is_blocked", [True, False], ids=["user is blocked", "job is over"])
async def test_a_session_of_a_blocked_user_or_of_a_job_that_is_over_ends(is_blocked: bool) -> None:
    spawner = FakeSpawner(is_blocked=is_blocked)
    spawner.exit_status = None if is_blocked else 1

    keep(spawner)  # type: ignore[arg-type]

    assert await outcome_of(spawner) == ["route deleted", "stopped"]


async def test_a_start_that_fails_after_the_restart_leaves_no_job_behind() -> None:
    spawner = FakeSpawner()

    resume_start(spawner)  # type: ignore[arg-type]

    assert await outcome_of(spawner) == ["stopped"]
    with pytest.raises(RuntimeError, match="ended first"):
        await spawner._spawn_future
    await asyncio.sleep(0)
    assert not spawner.is_hidden
    assert spawner._spawn_future is not None, "the page says why"
