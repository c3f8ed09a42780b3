"""What a session is told of a guest: by share and grant together, and of its own guests only."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from jupyterhub import orm, roles

from portal.hub.sharing.grants import Grant, May, ShareKind, shared_grants
from portal.hub.sharing.shares import key_of
from tests.support.hub_in_process import HubInProcess, hub_in_process

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOTHING = {"may_work": False, "reads_open": False, "documents": []}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HubInProcess]:
    async with hub_in_process(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


class Guests:
    """The sessions of ada, and who is let into them."""

    def __init__(self, hub: HubInProcess) -> None:
        self.hub = hub
        self.session = hub.add_session("ada")
        self.token = hub.session_token(self.session)
        self.grants = shared_grants(hub.folder / "guests.json")
        self.grants.begin(key_of(self.session))
        for name in ("grace", "linus"):
            hub.add_user(name)

    def give(self, may: May, name: str, kind: ShareKind = ShareKind.USER, **more: Any) -> None:
        self.grants.give(key_of(self.session), Grant(kind=kind, name=name, may=may, **more))

    def share(self, partner: Any, session: Any = None) -> None:
        orm.Share.grant(self.hub.app.db, (session or self.session).orm_spawner, partner)

    async def rights(self, name: str, token: str = "") -> Any:
        return await self.hub.ask("GET", f"/dsportal/guests/{name}", token=token or self.token)


@pytest.fixture
def guests(hub: HubInProcess) -> Any:
    for share in hub.app.db.query(orm.Share):
        hub.app.db.delete(share)
    hub.app.db.commit()
    return Guests(hub)


async def test_a_grant_without_a_share_gives_nothing_and_so_does_a_share_without_a_grant(
    guests: Guests,
) -> None:
    guests.give(May.WORK, "grace")
    guests.share(guests.hub.add_user("linus").orm_user)

    assert (await guests.rights("grace")).json == NOTHING
    assert (await guests.rights("linus")).json == NOTHING
    guests.share(guests.hub.add_user("grace").orm_user)
    assert (await guests.rights("grace")).json == NOTHING | {"may_work": True}


async def test_who_reads_does_not_work(guests: Guests) -> None:
    guests.give(May.READ, "grace", document="results.ipynb")
    guests.share(guests.hub.add_user("grace").orm_user)

    assert (await guests.rights("grace")).json == NOTHING | {"documents": ["results.ipynb"]}


async def test_members_of_a_group_have_its_rights_and_others_do_not(guests: Guests) -> None:
    db, grace = guests.hub.app.db, guests.hub.add_user("grace").orm_user
    course = orm.Group(name="course", users=[grace])
    db.add(course)
    db.commit()
    guests.give(May.READ, "course", ShareKind.GROUP)
    guests.share(course)

    assert (await guests.rights("grace")).json == NOTHING | {"reads_open": True}
    assert (await guests.rights("linus")).json == NOTHING
    grace.groups.remove(course)
    db.commit()
    assert (await guests.rights("grace")).json == NOTHING


async def test_what_another_session_grants_does_not_count(guests: Guests) -> None:
    other = guests.hub.add_session("ada", "more")
    guests.grants.begin(key_of(other))
    guests.grants.give(key_of(other), Grant(kind=ShareKind.USER, name="grace", may=May.WORK))
    guests.share(guests.hub.add_user("grace").orm_user, other)

    assert (await guests.rights("grace")).json == NOTHING


async def test_a_full_administrator_may_work_and_a_stranger_may_nothing(guests: Guests) -> None:
    margaret = guests.hub.add_user("margaret").orm_user
    roles.grant_role(guests.hub.app.db, margaret, orm.Role.find(guests.hub.app.db, "admin"))

    assert (await guests.rights("margaret")).json == NOTHING | {"may_work": True}
    assert (await guests.rights("nobody")).json == NOTHING


async def test_only_a_sessions_own_server_may_ask(guests: Guests) -> None:
    for token in (guests.hub.operator, guests.hub.token("ada"), guests.hub.token("grace")):
        assert (await guests.rights("grace", token)).status == 403
