"""Refusals and silence are remembered for a while, and one question serves all who ask."""

import asyncio
import pwd

import pytest

from portal.hub.auth import unix_accounts
from portal.hub.auth.account_status import (
    NO_ANSWER_AGE_S,
    REFUSAL_AGE_S,
    AccountStatus,
    AccountStatusCache,
    LoginPermission,
)


class Site:
    """Answers about accounts, counts the questions, and has a clock."""

    def __init__(self, verdict: LoginPermission) -> None:
        self.verdict = verdict
        self.asked: list[str] = []
        self.now_s = 1000.0
        self.standings = AccountStatusCache(self.ask, lambda: self.now_s)

    async def ask(self, name: str) -> AccountStatus:
        self.asked.append(name)
        await asyncio.sleep(0)
        return AccountStatus(verdict=self.verdict)


async def test_many_requests_at_once_are_one_question() -> None:
    site = Site(LoginPermission.MAY)

    await asyncio.gather(*(site.standings.of("ada") for _ in range(20)))

    assert site.asked == ["ada"]


async def test_a_refusal_holds_for_a_minute_and_ends_with_a_login() -> None:
    site = Site(LoginPermission.MAY_NOT)
    for _ in range(3):
        assert (await site.standings.of("ada")).verdict is LoginPermission.MAY_NOT
    assert len(site.asked) == 1

    site.now_s += REFUSAL_AGE_S + 1
    await site.standings.of("ada")
    site.standings.forget("ada")
    await site.standings.of("ada")

    assert len(site.asked) == 3


async def test_the_refusals_of_many_users_are_remembered() -> None:
    site = Site(LoginPermission.MAY_NOT)
    names = [f"user{number}" for number in range(5_000)]

    for name in [*names, names[0]]:
        await site.standings.of(name)

    assert site.asked == names


async def test_while_nothing_answers_one_in_half_a_minute_waits() -> None:
    site = Site(LoginPermission.UNKNOWN)
    for name in ("ada", "grace", "linus"):
        assert (await site.standings.of(name)).verdict is LoginPermission.UNKNOWN
    assert site.asked == ["ada"]

    site.now_s += NO_ANSWER_AGE_S
    site.verdict = LoginPermission.MAY

    assert (await site.standings.of("grace")).verdict is LoginPermission.MAY


def test_a_name_service_that_does_not_answer_is_no_account_that_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(pwd, "getpwnam", unknown)
    monkeypatch.setattr(unix_accounts, "_is_surely_nobody", lambda _: True)
    with pytest.raises(KeyError):
        unix_accounts.read_account("nobody-of-that-name")
    monkeypatch.setattr(unix_accounts, "_is_surely_nobody", lambda _: False)
    with pytest.raises(OSError, match="did not answer"):
        unix_accounts.read_account("ada")


async def test_what_was_answered_is_returned_whole_and_again_while_nothing_answers() -> None:
    site = Site(LoginPermission.UNKNOWN)
    assert (await site.standings.of("ada")) == AccountStatus(verdict=LoginPermission.UNKNOWN)
    first = await site.standings.of("ada")

    site.now_s += NO_ANSWER_AGE_S - 1

    assert await site.standings.of("grace") is first
    assert site.asked == ["ada"]


async def test_a_refusal_holds_although_nothing_answers_meanwhile() -> None:
    site = Site(LoginPermission.MAY_NOT)
    await site.standings.of("ada")
    site.verdict = LoginPermission.UNKNOWN
    await site.standings.of("grace")

    assert (await site.standings.of("ada")).verdict is LoginPermission.MAY_NOT
    assert (await site.standings.of("grace")).verdict is LoginPermission.UNKNOWN
    assert site.asked == ["ada", "grace"]


async def test_who_may_log_in_is_checked_each_time() -> None:
    site = Site(LoginPermission.MAY)

    for _ in range(3):
        assert (await site.standings.of("ada")).verdict is LoginPermission.MAY

    assert site.asked == ["ada"] * 3
