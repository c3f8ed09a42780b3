"""A second hub takes the place of one that ends: sessions and starts go on."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import requests

from tests.lab.benchmarks.pages.hubs import log_in
from tests.lab.benchmarks.scale.site import ADDRESS, Site
from tests.lab.benchmarks.spawner.many import answering_server
from tests.support.eventually import eventually
from tests.support.postgres import PROGRAMS, WHY_NOT, running_postgres

pytestmark = pytest.mark.skipif(not PROGRAMS, reason=WHY_NOT)

N_SESSIONS = 3


@pytest.fixture
def db_url() -> Iterator[str]:
    with running_postgres("postgres", auth="trust") as url:
        yield url


@pytest.fixture
def site(db_url: str, tmp_path: Path) -> Iterator[Site]:
    """Yield a hub with sessions, and another one that waits."""
    with (
        answering_server(ADDRESS) as port,
        Site(
            tmp_path,
            **{"n_sessions": N_SESSIONS, "n_nodes": 2, "n_jobs": 5},
            **{"server_port": port, "db_url": db_url},
        ) as site,
    ):
        site.start()
        site.kill()
        site.fill()
        site.start()
        site.start_standby()
        yield site


def ask(site: Site, method: str, path: str) -> requests.Response:
    headers = {"Authorization": f"token {site.operator}"}
    return requests.request(method, f"{site.url}/api{path}", headers=headers, timeout=60)


def ask_in_vain(site: Site, path: str) -> None:
    with suppress(requests.ConnectionError):
        ask(site, "POST", path)


def is_ready(site: Site, user: str) -> bool:
    servers = ask(site, "GET", f"/users/{user}").json()["servers"]
    return bool(servers and servers[""]["ready"])


def test_after_the_death_of_a_hub_sessions_and_starts_go_on(site: Site) -> None:
    log_in(site.url, "starter")
    threading.Thread(target=ask_in_vain, args=(site, "/users/starter/server")).start()
    eventually(lambda: "|starter|" in (site.folder / "sessions").read_text(), timeout_s=30)
    started = ask(site, "GET", "/users/user0002").json()["servers"][""]["started"]

    site.kill()
    site.take_over()

    eventually(lambda: is_ready(site, "starter"), timeout_s=60)
    assert site.count_ready() == N_SESSIONS + 1
    assert ask(site, "GET", "/users/user0002").json()["servers"][""]["started"] == started


def test_a_hub_that_loses_its_lock_ends_at_once_and_the_other_one_goes_on(
    site: Site, db_url: str
) -> None:
    with psycopg.connect(db_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        )

    assert site.take_over() == 1
    eventually(lambda: site.count_ready() == N_SESSIONS, timeout_s=30)
    assert "its lock is lost" in site.log("hub")
