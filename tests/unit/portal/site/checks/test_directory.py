"""`dsportal check --user` says what keeps one user out before that user finds it."""

import os
import pwd
from types import SimpleNamespace

import pytest

from portal.hub.auth import unix_accounts
from portal.site.checks.directory import check_user
from portal.site.checks.finding import Grade

UIDS = {"ada": 20001, "1234567": 20002, "daemon": 1}


@pytest.fixture(autouse=True)
def accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(name: str) -> SimpleNamespace:
        return SimpleNamespace(pw_name=name, pw_uid=UIDS[name], pw_gid=0)

    monkeypatch.setattr(pwd, "getpwnam", look_up)
    monkeypatch.setattr(os, "getgrouplist", lambda *_: [])
    # Whatever the name service of this machine says, or whether it runs.
    monkeypatch.setattr(unix_accounts, "_is_surely_nobody", lambda name: True)


@pytest.mark.parametrize("name", ["ada", "1234567"])
async def test_an_account_that_can_log_in_is_in_order(name: str) -> None:
    (finding,) = await check_user(name)

    assert finding.grade is Grade.OK


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("LAB\\jane", "cannot serve the name 'LAB\\jane': it has '\\' in it"),
        ("Ada", "it has capital letters"),
        ("nobody-here", "no account on this host"),
        ("daemon", "is a system account"),
    ],
)
async def test_what_keeps_an_account_out_is_a_problem(name: str, words: str) -> None:
    (finding,) = await check_user(name)

    assert finding.grade is Grade.PROBLEM
    assert words in finding.sentence


async def test_a_name_service_that_is_down_is_not_taken_for_a_missing_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What getpwnam_r of the C library says then.
    monkeypatch.setattr(unix_accounts, "_is_surely_nobody", lambda name: False)

    (finding,) = await check_user("grace")

    assert finding.grade is Grade.PROBLEM
    assert finding.sentence == "the name service of this host does not answer about grace."
