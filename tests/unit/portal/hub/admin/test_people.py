"""Who is removed from the portal, and what goes with them."""

from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest
import pytest_asyncio
from jupyterhub import orm

from portal.hub.auth.account_status import AccountStatus, LoginPermission
from tests.support.hub_in_process import HubInProcess, hub_in_process

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HubInProcess]:
    async with hub_in_process(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.fixture
def hub(running_hub: HubInProcess) -> HubInProcess:
    """Return a hub with ada, who has two sessions and a token, and grace, who has one."""
    running_hub.stops.clear()
    running_hub.add_session("ada")
    running_hub.add_session("ada", "more")
    running_hub.add_session("grace")
    running_hub.token("ada", note="for my script")
    set_account(running_hub, LoginPermission.MAY_NOT)
    return running_hub


def set_account(hub: HubInProcess, verdict: LoginPermission) -> None:
    """Let each account be one that may log in, may not, or of which nobody knows."""

    async def of(name: str) -> AccountStatus:
        return AccountStatus(verdict=verdict, reason=f"{name} has left.")

    hub.app.authenticator.standings = SimpleNamespace(of=of)


async def test_who_has_left_goes_with_sessions_and_tokens_and_nobody_else_does(
    hub: HubInProcess,
) -> None:
    n_tokens = hub.app.db.query(orm.APIToken).filter_by(user=hub.add_user("ada").orm_user).count()

    answer = await hub.ask("DELETE", "/dsportal/users/ada")

    assert answer.status == 200
    assert answer.json == {"user": "ada", "sessions": 2, "tokens": n_tokens}
    assert sorted(hub.stops) == ["ada/", "ada/more"]
    assert orm.User.find(hub.app.db, "ada") is None
    assert hub.app.users["grace"].spawners[""].ready
    notes = {token.note for token in hub.app.db.query(orm.APIToken)}
    assert "for my script" not in notes


@pytest.mark.parametrize(
    ("verdict", "status"), [(LoginPermission.MAY, 409), (LoginPermission.UNKNOWN, 503)]
)
async def test_who_may_come_back_stays_unless_it_is_forced(
    hub: HubInProcess, verdict: LoginPermission, status: int
) -> None:
    set_account(hub, verdict)

    refused = [
        (await hub.ask("DELETE", "/dsportal/users/ada", body)).status
        for body in (None, {"force": "no"}, {})
    ]
    stops = list(hub.stops)
    forced = await hub.ask("DELETE", "/dsportal/users/ada", {"force": "yes"})

    assert refused == [status] * 3
    assert stops == []
    assert forced.status == 200
    assert orm.User.find(hub.app.db, "ada") is None


async def test_a_user_with_a_session_that_does_not_end_stays(
    hub: HubInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = hub.app.users["ada"]
    # Another request stops it, which takes a while.
    monkeypatch.setattr(ada.spawners["more"], "_stop_pending", True)

    answer = await hub.ask("DELETE", "/dsportal/users/ada")

    assert answer.status == 503
    assert "still stopping" in answer.json["message"]
    assert orm.User.find(hub.app.db, "ada") is not None


async def test_who_is_not_known_is_named(hub: HubInProcess) -> None:
    answer = await hub.ask("DELETE", "/dsportal/users/nobody")

    assert answer.status == 404
    assert "nobody" in answer.json["message"]


async def test_the_list_says_who_may_log_in_and_what_they_hold(hub: HubInProcess) -> None:
    hub.add_user("mary")
    answer = await hub.ask("GET", "/dsportal/users")

    users = {user["user"]: user for user in answer.json["users"]}
    assert users["ada"]["sessions"] == 2
    assert users["grace"]["sessions"] == 1
    assert users["mary"]["sessions"] == users["mary"]["tokens"] == 0
    assert users["ada"]["account"] == LoginPermission.MAY_NOT.value
    assert users["ada"]["reason"] == "ada has left."
