"""Whose session is shared with whom, and what is left of it when the session ends."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from jupyterhub import orm
from tornado.web import HTTPError

from portal.hub.sharing.grants import Grant, May, ShareKind, shared_grants
from portal.hub.sharing.shares import (
    ShareHandler,
    end_shares,
    key_of,
    list_shared_sessions,
    list_shares,
)
from tests.support.hub_in_process import HubInProcess, hub_in_process

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HubInProcess]:
    async with hub_in_process(tmp_path_factory.mktemp("hub")) as hub:
        for name in ("grace", "linus"):
            hub.add_user(name)
        course = orm.Group(name="course", users=[hub.add_user("linus").orm_user])
        hub.app.db.add(course)
        hub.app.db.commit()
        yield hub


class Form:
    """A form that a user sends, as the handler sees it."""

    find_spawner = ShareHandler.find_spawner
    find_partner = ShareHandler.find_partner
    read_permission = ShareHandler.read_permission

    def __init__(
        self, hub: HubInProcess, user: str, *, is_offered: bool = True, **form: str
    ) -> None:
        self.db, self.authenticator = hub.app.db, hub.app.authenticator
        self.current_user = hub.add_user(user)
        self._is_offered = is_offered
        self._form = form

    def get_body_argument(self, name: str, default: str) -> str:
        return self._form.get(name, default)


def status_of(ask: Any, *arguments: Any) -> int:
    with pytest.raises(HTTPError) as caught:
        ask(*arguments)
    return int(caught.value.status_code)


async def test_everybody_shares_only_sessions_of_their_own(hub: HubInProcess) -> None:
    one, more = hub.add_session("ada"), hub.add_session("ada", "more")

    assert Form(hub, "ada").find_spawner("ada", None) is one
    assert Form(hub, "ada").find_spawner("ada", "more") is more
    assert status_of(Form(hub, "ada").find_spawner, "ada", "other") == 404
    # Whoever asks: an administrator's form has no other rights.
    assert status_of(Form(hub, "grace").find_spawner, "ada", None) == 404
    assert status_of(Form(hub, "ada", is_offered=False).find_spawner, "ada", None) == 404


@pytest.mark.parametrize(
    "form",
    [
        {"name": "nobody"},
        {"name": ""},
        {"name": "ada"},
        {"name": "course", "kind": "group"},
        {"name": "grace", "kind": "group"},
    ],
)
async def test_a_partner_is_another_user_or_a_group_of_ones_own(
    hub: HubInProcess, form: dict[str, str]
) -> None:
    assert status_of(Form(hub, "ada", **form).find_partner) == 400


async def test_partners_are_found_by_name(hub: HubInProcess) -> None:
    assert Form(hub, "ada", name=" grace ").find_partner().name == "grace"
    assert Form(hub, "linus", name="course", kind="group").find_partner().name == "course"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"may": "work"}, (May.WORK, "")),
        ({"may": "read"}, (May.READ, "")),
        # A path beside it makes no less of a right to work.
        ({"may": "work", "document": "a.ipynb"}, (May.WORK, "")),
        ({"may": "document", "document": "work/a.ipynb"}, (May.READ, "work/a.ipynb")),
    ],
)
async def test_the_form_says_what_a_guest_may_do(
    hub: HubInProcess, form: dict[str, str], expected: tuple[May, str]
) -> None:
    assert Form(hub, "ada", **form).read_permission() == expected


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"may": ""},
        {"may": "all"},
        {"may": "document"},
        {"may": "document", "document": "data.csv"},
        {"may": "document", "document": "../grace/a.ipynb"},
        {"may": "document", "document": ".ssh/a.ipynb"},
    ],
)
async def test_what_is_no_permission_is_none(hub: HubInProcess, form: dict[str, str]) -> None:
    assert status_of(Form(hub, "ada", **form).read_permission) == 400


async def test_all_shares_of_a_session_end_with_it_and_those_of_others_stay(
    hub: HubInProcess,
) -> None:
    one, more = hub.add_session("ada"), hub.add_session("ada", "more")
    grants = shared_grants(hub.folder / "guests.json")
    grace = hub.add_user("grace")
    for spawner in (one, more):
        grants.begin(key_of(spawner))
        grants.give(key_of(spawner), Grant(kind=ShareKind.USER, name="grace", may=May.READ))
        orm.Share.grant(hub.app.db, spawner.orm_spawner, grace.orm_user)
    assert [one.title for one in list_shared_sessions(grace, grants)] == [
        "The session more of ada, to read",
        "The session of ada, to read",
    ]

    end_shares(one, grants)

    assert list_shares(one, grants) == ()
    assert [grant.name for grant in list_shares(more, grants)] == ["grace"]
    (left,) = list_shared_sessions(grace, grants)
    assert left.title == "The session more of ada, to read"
    assert left.url.endswith("/user/ada/more/portal/reading")


async def test_a_share_without_a_grant_is_listed_so_that_it_can_be_ended(
    hub: HubInProcess,
) -> None:
    spawner = hub.add_session("mary")
    orm.Share.grant(hub.app.db, spawner.orm_spawner, hub.add_user("grace").orm_user)

    (listed,) = list_shares(spawner, shared_grants(hub.folder / "guests.json"))

    assert (listed.name, listed.may) == ("grace", May.WORK)
