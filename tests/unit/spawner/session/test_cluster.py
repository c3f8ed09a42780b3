"""What a hub knows of its cluster in the first moments after its start."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from spawner.cache import Cache
from spawner.client.accounting import Accounting
from spawner.client.command import Completed
from spawner.errors import SlurmUnavailableError
from spawner.options.traits import SiteTraits
from spawner.session.cluster import Cluster
from spawner.session.clusters import shared_cluster
from spawner.slurm.associations import Associations
from spawner.slurm.catalog import Catalog
from tests.hub.private_hub import node_line


class Database:
    """Accounting that answers when it is told to."""

    def __init__(self) -> None:
        self.is_awake = asyncio.Event()
        self.is_down = False
        self.n_asked = 0

    async def answer(self) -> Associations:
        self.n_asked += 1
        if self.is_down:
            raise SlurmUnavailableError("Accounting does not answer. Try again in a minute.")
        await self.is_awake.wait()
        return Associations()


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    database = Database()
    monkeypatch.setattr(Accounting, "read_associations", database.answer)
    return database


@pytest.fixture
def cluster(database: Database) -> Cluster:
    """A cluster whose accounting is `database`."""
    log = logging.getLogger("test")
    return Cluster(hub="0", traits=SiteTraits(), known_ids=set, log=log)


async def test_a_form_waits_a_moment_for_the_first_answer_of_accounting(
    cluster: Cluster, database: Database
) -> None:
    assert not await cluster.knows_associations(0.01)

    waiting = asyncio.create_task(cluster.knows_associations(10))
    database.is_awake.set()

    assert await waiting
    assert database.n_asked == 1, "both forms shared one question"


async def test_once_limits_are_known_no_form_waits_or_asks_slurm(
    cluster: Cluster, database: Database
) -> None:
    database.is_awake.set()
    await cluster.knows_associations(10)

    assert all([await cluster.knows_associations(0) for _ in range(50)])
    assert database.n_asked == 1


async def test_accounting_that_is_down_is_asked_once_for_many_forms(
    cluster: Cluster, database: Database
) -> None:
    database.is_down = True

    assert all([await cluster.knows_associations(10) for _ in range(50)])
    assert database.n_asked == 1


async def test_a_node_whose_address_is_not_known_is_reached_by_its_name(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> Catalog:
        raise SlurmUnavailableError("no answer")

    monkeypatch.setattr(cluster, "catalog", Cache(fail, fresh_s=1))

    assert await cluster.read_address("n1") == "n1"
    assert "The address of n1 is not known, its name is used: no answer" in caplog.text


async def test_an_address_is_the_one_that_slurm_knows(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_catalog() -> Catalog:
        return Catalog.parse(node_line("node01"))

    monkeypatch.setattr(cluster, "catalog", Cache(read_catalog, fresh_s=1))

    assert await cluster.read_address("node01") == "10.77.0.1"
    assert await cluster.read_address("added") == "added"


def test_each_cluster_of_a_hub_is_made_once_and_asked_by_its_own_slurm_conf() -> None:
    log, settings = logging.getLogger("test"), {"cookie_secret": b"secret"}
    there = {"slurm_conf": "/etc/slurm-volta/slurm.conf", "absent_s": 7.0}
    traits: Any = SiteTraits(clusters={"volta": there}, forecast_path="/hub/forecasts.json")

    def made(name: str = "") -> Cluster:
        return shared_cluster(settings, traits, name=name, known_ids=set, log=log)

    first, volta, gone = made(), made("volta"), made("gone")

    assert (made(), made("volta")) == (first, volta)
    assert [one.name for one in (first, volta, gone)] == ["", "volta", "gone"]
    assert (first.hub, first.slurm.address.slurm_conf) == (volta.hub, "")
    assert volta.slurm.address.slurm_conf == "/etc/slurm-volta/slurm.conf"
    # Sessions may outlive its entry, and no other cluster may answer for them.
    assert gone.slurm.address.slurm_conf not in {"", volta.slurm.address.slurm_conf}
    assert first.watcher is not volta.watcher


async def test_an_answer_that_hubs_share_is_of_one_cluster_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def query(argv: object, *, slurm_conf: str, **_: object) -> Completed:
        return Completed(exit_code=0, stdout=f"SLURM_CONF = {slurm_conf}\n", stderr="")

    monkeypatch.setattr("spawner.client.slurm.query", query)
    log, settings = logging.getLogger("test"), {"cookie_secret": b"secret"}
    traits: Any = SiteTraits(
        clusters={"volta": {"slurm_conf": "/volta.conf"}}, answers_dir=str(tmp_path)
    )

    answers = [
        (
            await shared_cluster(
                settings, traits, name=name, known_ids=set, log=log
            ).slurm.read_config()
        )
        for name in ("", "volta")
    ]

    assert [answer["SLURM_CONF"] for answer in answers] == ["", "/volta.conf"]
