"""The operator's REST interface, at a hub with its own routes and rights."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from jupyterhub import orm

from portal.hub.admin import api
from portal.hub.messages.stop_notices import shared_notices
from spawner.slurm.cluster_jobs import ClusterJobs
from tests.support.hub_in_process import (
    SLURM,
    VOLTA,
    HubInProcess,
    RowSpawner,
    Slurm,
    hub_in_process,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HubInProcess]:
    async with hub_in_process(tmp_path_factory.mktemp("hub")) as hub:
        hub.add_user("mary")
        yield hub


@pytest.fixture
def hub(running_hub: HubInProcess) -> HubInProcess:
    """Return a hub with sessions of four users in two partitions and on another cluster."""
    running_hub.stops.clear()
    running_hub.add_session("ada", partition="jupyter")
    running_hub.add_session("ada", "more", partition="long")
    running_hub.add_session("grace", partition="jupyter")
    running_hub.add_session("linus", partition="long")
    running_hub.add_session("emmy", partition="long", cluster="volta")
    return running_hub


ALL = ["ada/", "ada/more", "emmy/", "grace/", "linus/"]


@pytest.mark.parametrize(
    ("body", "stopped"),
    [
        ({"partition": "jupyter"}, ["ada/", "grace/"]),
        ({"partition": "long"}, ["ada/more", "linus/"]),
        ({"partition": "volta:long"}, ["emmy/"]),
        ({"user": "ada"}, ["ada/", "ada/more"]),
        ({"user": "ada", "partition": "long"}, ["ada/more"]),
        ({"user": "grace", "partition": "long"}, []),
        ({"user": "mary"}, []),
        ({"user": "nobody"}, []),
        ({"partition": "nowhere"}, []),
        ({"all": "yes"}, ALL),
    ],
)
async def test_only_the_sessions_that_are_named_are_stopped(
    hub: HubInProcess, body: dict[str, str], stopped: list[str]
) -> None:
    answer = await hub.ask("POST", "/dsportal/stop", body)

    assert answer.status == 200
    assert sorted(hub.stops) == stopped
    told = [f"{one['user']}/{one['name']}" for one in answer.json["sessions"] if one["stopped"]]
    assert sorted(told) == stopped


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"all": "no"},
        {"all": ""},
        {"partition": ""},
        {"user": ""},
        {"message": "x"},
        {"all": True},
        # Whether one or all are meant is not known.
        {"all": "yes", "user": "linus"},
    ],
)
async def test_a_stop_that_names_nothing_stops_nothing(hub: HubInProcess, body: object) -> None:
    answer = await hub.ask("POST", "/dsportal/stop", body)

    assert answer.status == 400
    assert sorted(hub.stops) == []


async def test_a_stop_tells_those_whom_it_ends_and_nobody_else(hub: HubInProcess) -> None:
    notices = shared_notices(hub.folder / "notices.json")
    for name in ("ada", "grace"):
        notices.clear(name)

    await hub.ask("POST", "/dsportal/stop", {"user": "grace", "message": "Cooling fails."})

    assert "Cooling fails." in str(notices.of("grace"))
    assert not notices.of("ada")


async def test_the_status_has_each_session_with_its_state(hub: HubInProcess) -> None:
    hub.app.users["linus"].spawners[""].has_other_authority = True
    hub.app.users["grace"].spawners[""].is_suspended = True

    answer = await hub.ask("GET", "/dsportal/status")

    states = {f"{one['user']}/{one['name']}": one["state"] for one in answer.json["sessions"]}
    assert states == {
        "ada/": "running",
        "ada/more": "running",
        "emmy/": "running",
        "grace/": "suspended",
        "linus/": "unreachable",
    }
    assert answer.json["asked_from"] == "127.0.0.1"


async def test_the_status_has_the_gpus_of_kernels_with_their_session(
    hub: HubInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawner = hub.app.users["ada"].spawners["more"]
    monkeypatch.setattr(spawner, "session", replace(spawner.session, job_id=7))
    kernel = "8|ada|R|gpu|1|N/A|5:00|gres/gpu=4|None|kernel-of-7"
    monkeypatch.setattr(SLURM, "jobs", ClusterJobs.parse(kernel, "|"))

    answer = await hub.ask("GET", "/dsportal/status")

    held = {
        f"{one['user']}/{one['name']}": (one["kernel_gpus"], one["kernel_partitions"])
        for one in answer.json["sessions"]
    }
    assert held["ada/more"] == (4, ["gpu"])
    assert held["grace/"] == (0, [])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "status"),
        ("PUT", "drain"),
        ("DELETE", "drain"),
        ("POST", "stop"),
        ("GET", "users"),
        ("DELETE", "users/mary"),
    ],
)
async def test_a_users_token_may_none_of_it(hub: HubInProcess, method: str, path: str) -> None:
    answer = await hub.ask(method, f"/dsportal/{path}", {"all": "yes"}, token=hub.token("ada"))

    assert answer.status == 403
    assert sorted(hub.stops) == []
    assert "mary" in hub.app.users


async def test_health_is_good_only_while_all_parts_are(
    hub: HubInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    well = await hub.ask("GET", "/dsportal/health", token="nobody's")
    SLURM.answers = False
    without_slurm = await hub.ask("GET", "/dsportal/health")
    SLURM.answers = True
    hub.app.proxy.is_refused = True
    refused = await hub.ask("GET", "/dsportal/health")
    hub.app.proxy.is_refused = False
    monkeypatch.setattr(api, "has_room", lambda _: False)
    full = await hub.ask("GET", "/dsportal/health")

    parts = {"hub": "answers", "slurm": "answers", "proxy": "answers", "disk": "has room"}
    parts = {**parts, "clusters": {}}
    assert (well.status, well.json) == (200, parts | {"takes_sessions": True})
    for answer, part in (
        (without_slurm, {"slurm": "no answer"}),
        (refused, {"proxy": "refuses the hub"}),
        (full, {"disk": "full"}),
    ):
        assert (answer.status, answer.json) == (503, parts | part | {"takes_sessions": False})


@pytest.mark.parametrize("away", [SLURM, VOLTA])
async def test_a_cluster_that_is_away_is_named_and_keeps_nobody_from_the_other(
    hub: HubInProcess, monkeypatch: pytest.MonkeyPatch, away: Slurm
) -> None:
    monkeypatch.setattr(RowSpawner, "clusters", [SLURM, VOLTA])
    monkeypatch.setattr(away, "answers", False)

    health = await hub.ask("GET", "/dsportal/health")
    status = await hub.ask("GET", "/dsportal/status")

    def words(cluster: Slurm, gone: str) -> str:
        return gone if cluster is away else "answers"

    assert (health.status, health.json["takes_sessions"]) == (200, True)
    assert health.json["slurm"] == words(SLURM, "no answer")
    assert health.json["clusters"] == {"volta": words(VOLTA, "no answer")}
    assert status.json["slurm"] == words(SLURM, "Slurm does not answer.")
    assert status.json["clusters"] == {"volta": words(VOLTA, "Slurm does not answer.")}
    assert len(status.json["sessions"]) == len(ALL)


async def test_health_writes_nothing_where_no_session_was_since_the_hub_started(
    hub: HubInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = hub.app.db
    # JupyterHub makes a row of a session for each user that it loads without one.
    for row in db.query(orm.Spawner).filter_by(user=db.query(orm.User).first()):
        db.delete(row)
    db.commit()
    hub.app.users.clear()
    written: list[str] = []
    monkeypatch.setattr(db, "commit", lambda: written.append("row"))

    answer = await hub.ask("GET", "/dsportal/health")

    assert (answer.status, answer.json["slurm"]) == (200, "answers")
    assert written == []


async def test_a_drain_is_no_fault_and_ends_with_its_deletion(hub: HubInProcess) -> None:
    closed = await hub.ask("PUT", "/dsportal/drain", {"message": "New disks."})
    during = await hub.ask("GET", "/dsportal/health")
    opened = await hub.ask("DELETE", "/dsportal/drain")
    after = await hub.ask("GET", "/dsportal/health")

    assert closed.json == {"drain": "New disks."}
    assert (during.status, during.json["takes_sessions"]) == (200, False)
    assert opened.status == 204
    assert (after.status, after.json["takes_sessions"]) == (200, True)
