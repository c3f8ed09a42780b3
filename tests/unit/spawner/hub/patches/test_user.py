"""A session whose end cannot be saved at once."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from spawner.hub.patches import user as user_patch
from spawner.hub.patches.user import stopped_in_the_end
from spawner.unwritable_database import DatabaseFullError
from tests.support.eventually import eventually_async


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
        self.db = SimpleNamespace(rollback=self._roll_back, is_active=True)
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
        raise DatabaseFullError
    user.spawner._stop_pending = False
    user.spawner.server = None
    user.spawners.clear()


@pytest.mark.parametrize("is_thrown_away", [False, True])
async def test_a_stop_that_could_not_be_kept_is_tried_again_until_there_is_room(
    monkeypatch: pytest.MonkeyPatch, is_thrown_away: bool
) -> None:
    monkeypatch.setattr(user_patch, "RETRY_S", 0.0)
    user = FakeUser(n_failures=3, is_thrown_away=is_thrown_away)

    with pytest.raises(DatabaseFullError):
        await stopped_in_the_end(stop)(user)
    assert not user.spawner._stop_pending, "nobody stays pending"

    async def is_done() -> bool:
        return user.spawner.server is None and not user_patch._retries

    await eventually_async(is_done, 10)
    assert (user.n_asked, user.n_rolled_back) == (4, 3)
    assert user.unrouted == [""], "the proxy leads nobody to what has ended"


async def test_a_session_whose_job_still_runs_is_left_to_its_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(user_patch, "RETRY_S", 0.0)
    user = FakeUser(n_failures=1, exit_status=None)

    with pytest.raises(DatabaseFullError):
        await stopped_in_the_end(stop)(user)

    async def is_left() -> bool:
        return not user_patch._retries

    await eventually_async(is_left, 10)
    assert user.n_asked == 1
