"""Which accounts of the name service may log in."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from jupyterhub import orm
from sqlalchemy import event
from sqlalchemy.orm import Session

from portal.hub.auth import authenticator_mixin
from portal.hub.auth.authenticator_mixin import AuthenticatorMixin
from portal.hub.auth.credentials import LoginError
from portal.hub.auth.unix_accounts import Account
from tests.support.hub_database import hub_database


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


async def test_tokens_without_an_end_get_one_at_a_start_and_those_of_sessions_do_not() -> None:
    names = [f"user{number}" for number in range(20)]
    with hub_database(*names) as db:
        users = {user.name: user for user in db.query(orm.User)}
        for name in names:
            users[name].new_api_token(note="for my script")
        users["user1"].new_api_token(note="Server at /user/user1/")
        users["user2"].new_api_token(note="short", expires_in=60)
        service = orm.Service(name="dsportal-operator")
        db.add(service)
        db.commit()
        service.new_api_token()
        db.expire_all()
        authenticator = AuthenticatorMixin(token_days=90)

        with counted_queries(db, "api_tokens") as queries:
            # As JupyterHub does when it starts.
            for user in db.query(orm.User):
                await authenticator.add_user(user)

        ends = {(token.note, token.expires_at) for token in db.query(orm.APIToken)}
        assert len(queries) == 1
        least, most = (datetime.now(UTC) + timedelta(days=days) for days in (89, 91))
        (end,) = (end for note, end in ends if note == "for my script")
        assert least < end.replace(tzinfo=UTC) < most
        (short,) = (end for note, end in ends if note == "short")
        assert short.replace(tzinfo=UTC) < datetime.now(UTC) + timedelta(days=1)
        assert ("Server at /user/user1/", None) in ends
        assert ("", None) in ends


@contextmanager
def counted_queries(db: Session, table: str) -> Iterator[list[str]]:
    """Yield the statements that read a table, as they are sent."""
    sent: list[str] = []

    def note(_: object, __: object, statement: str, *more: object) -> None:
        if statement.startswith("SELECT") and table in statement:
            sent.append(statement)

    event.listen(db.get_bind(), "before_cursor_execute", note)
    yield sent
    event.remove(db.get_bind(), "before_cursor_execute", note)
