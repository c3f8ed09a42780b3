"""What is looked at before a job, and what each fault means to the user and to the site."""

from __future__ import annotations

from typing import Any

import pytest

from spawner import preflight_probe
from spawner.errors import PreflightError
from spawner.preflight import Preflight, Weight


class Launcher:
    """Answers with what a test says that the checks found."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.asked: dict[str, Any] = {}

    async def order(self, user: str, request: dict[str, Any]) -> dict[str, Any]:
        self.asked = request
        return {"ok": True, "checks": self.found}


async def look(preflight: Preflight, *, is_rescue: bool = False, **found: Any) -> list[str]:
    return await preflight.look(Launcher(found), "ada", is_rescue=is_rescue)  # type: ignore[arg-type]


async def test_nothing_wrong_says_nothing() -> None:
    assert await look(Preflight(), home={"fault": "", "free_mib": 900}) == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"fault": "full", "free_mib": 3}, "is full: 3 MiB are free in it. Clean up"),
        (
            {"fault": "unwritable", "detail": "Read-only file system"},
            'cannot be written ("Read-only file system"). Tell the administrators.',
        ),
        ({"fault": "no-answer"}, "did not answer within 3 s. Try again in a few minutes"),
        ({"fault": "of a later release"}, "did not answer within 3 s."),
    ],
)
async def test_a_fault_of_the_home_refuses_the_session_and_names_the_cure(
    found: dict[str, Any], words: str
) -> None:
    with pytest.raises(PreflightError) as caught:
        await look(Preflight(), home=found)

    assert str(caught.value).startswith("Your home folder ")
    assert words in str(caught.value)
    assert caught.value.needs_rescue is (found["fault"] == "full")


async def test_the_site_decides_what_only_warns() -> None:
    preflight = Preflight(shared_path="/srv/isilon")

    (warning,) = await look(preflight, shared={"fault": "no-answer"})

    assert warning.startswith("The shared storage, /srv/isilon, did not answer within 3 s.")
    with pytest.raises(PreflightError):
        await look(Preflight(shared=Weight.REFUSE), shared={"fault": "no-answer"})


async def test_a_rescue_session_minds_no_full_home_but_one_that_hangs() -> None:
    assert await look(Preflight(), is_rescue=True, home={"fault": "full"}) == []
    with pytest.raises(PreflightError):
        await look(Preflight(), is_rescue=True, home={"fault": "no-answer"})


async def test_what_is_off_or_has_no_path_is_not_looked_at() -> None:
    launcher = Launcher({})
    preflight = Preflight(home=Weight.OFF, server_path="/opt/server")

    await preflight.look(launcher, "ada")  # type: ignore[arg-type]
    assert launcher.asked["checks"] == {"server": {"path": "/opt/server"}, "timeout_s": 3.0}

    launcher.asked = {}
    await Preflight(home=Weight.OFF).look(launcher, "ada")  # type: ignore[arg-type]
    assert launcher.asked == {}


def test_a_check_that_cannot_even_be_killed_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signals: list[int] = []
    monkeypatch.setattr(preflight_probe.os, "killpg", lambda pid, _: signals.append(pid))
    monkeypatch.setattr(preflight_probe, "_start", _start_sleep)

    found = preflight_probe.look({"home": {"min_free_mib": 1}}, timeout_s=0.1)

    assert found == {"home": {"fault": "no-answer"}}
    assert len(signals) == 1
    _SLEEPERS[0].kill()
    _SLEEPERS[0].communicate()


_SLEEPERS: list[Any] = []


def _start_sleep(name: str, what: Any) -> Any:
    sleeper = preflight_probe.subprocess.Popen(
        ["sleep", "60"], stdout=preflight_probe.subprocess.PIPE
    )
    _SLEEPERS.append(sleeper)
    return sleeper
