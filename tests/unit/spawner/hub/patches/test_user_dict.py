"""The count of all sessions, which JupyterHub takes at each start."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from spawner.hub.patches import user_dict
from spawner.hub.patches.user_dict import MAX_AGE_S, counted_seldom


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    clock = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(user_dict, "time", SimpleNamespace(monotonic=lambda: clock.now_s))

    def pass_time(by_s: float) -> None:
        clock.now_s += by_s

    return pass_time


def test_many_starts_within_seconds_count_all_sessions_once(
    pass_time: Callable[[float], None],
) -> None:
    found: list[object] = []
    count = counted_seldom(lambda users: found.append(users) or {"active": len(found)})
    assert [count("users")["active"] for _ in range(3)] == [1, 1, 1]
    pass_time(MAX_AGE_S)
    assert count("users")["active"] == 2
