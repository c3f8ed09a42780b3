"""Which accounts of the name service may log in."""

import time

import pytest

from portal.hub.auth import authenticator_mixin
from portal.hub.auth.authenticator_mixin import AuthenticatorMixin
from portal.hub.auth.credentials import LoginError
from portal.hub.auth.unix_accounts import Account


def answering(account: Account) -> object:
    return lambda name: account


async def find_groups(name: str) -> list[str]:
    return await AuthenticatorMixin().unix_groups(name, time.monotonic() + 10)


async def test_the_groups_are_those_of_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account(name="ada", uid=20001, groups=("ada", "research"))
    monkeypatch.setattr(authenticator_mixin, "read_account", answering(account))

    assert await find_groups("ada") == ["ada", "research"]


@pytest.mark.parametrize(
    ("account", "sentence"),
    [
        (Account(name="ADA", uid=20001, groups=()), "has no UNIX account"),
        (Account(name="ada@example.org", uid=20001, groups=()), "has no UNIX account"),
        (Account(name="ada", uid=33, groups=()), "is a system account"),
    ],
    ids=["another case", "another form", "system"],
)
async def test_an_account_of_another_name_or_of_the_system_is_refused(
    monkeypatch: pytest.MonkeyPatch, account: Account, sentence: str
) -> None:
    monkeypatch.setattr(authenticator_mixin, "read_account", answering(account))

    with pytest.raises(LoginError) as caught:
        await find_groups("ada")

    assert sentence in caught.value.jupyterhub_message
