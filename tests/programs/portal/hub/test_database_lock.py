"""One hub at a time acts on a PostgreSQL database, and another one takes its place."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
import requests

from portal.hub.database_lock import SILENCE_S, hold_database
from spawner.errors import SiteError
from tests.lab.benchmarks.pages.hubs import log_in
from tests.lab.benchmarks.scale.sessions import answering_server
from tests.lab.benchmarks.scale.site import ADDRESS, Site
from tests.support.eventually import eventually
from tests.support.postgres import PROGRAMS, WHY_NOT, running_postgres

pytestmark = pytest.mark.skipif(not PROGRAMS, reason=WHY_NOT)

HOLD = """
import sys
from portal.hub.database_lock import hold_database
hold_database(sys.argv[1], waits=True)
print("acts", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def db_url() -> Iterator[str]:
    with running_postgres("postgres", auth="trust") as url:
        yield url


@contextmanager
def hub(url: str) -> Iterator[subprocess.Popen[str]]:
    """Run a process that acts as a hub does, once it may."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def after(first: subprocess.Popen[str], url: str) -> Iterator[subprocess.Popen[str]]:
    """Run a second one when the first acts: of two that start together either may win."""
    assert acts(first)
    with hub(url) as second:
        yield second


def acts(process: subprocess.Popen[str]) -> bool:
    """Wait until a hub acts; return whether it does."""
    assert process.stdout is not None
    return process.stdout.readline() == "acts\n"


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def test_a_second_hub_is_refused_and_told_of_the_first(db_url: str) -> None:
    with hub(db_url) as first:
        assert acts(first)

        with pytest.raises(SiteError) as caught:
            hold_database(db_url, waits=False)

    words = f"Another hub (hub {first.pid} on {socket.gethostname()}) uses the database {db_url}"
    assert caught.value.message.startswith(words)


def test_a_database_that_does_not_answer_is_told_in_a_sentence() -> None:
    with pytest.raises(SiteError, match="cannot be used"):
        hold_database("postgresql:///jupyterhub?host=/nowhere", waits=False)


def test_a_hub_that_waits_acts_when_the_first_one_was_killed(db_url: str) -> None:
    with hub(db_url) as first, after(first, db_url) as second:
        assert "This one waits to take its place" in line_of(second)

        first.kill()

        assert acts(second)


def test_a_hub_whose_lock_is_gone_ends_before_another_one_acts(db_url: str) -> None:
    with hub(db_url) as first, after(first, db_url) as second:
        assert "waits" in line_of(second)
        with psycopg.connect(db_url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks"
                " WHERE locktype = 'advisory' AND granted"
            )

        assert "its lock is lost" in line_of(first)
        assert first.wait(SILENCE_S) == 1
        assert acts(second)


def test_a_hub_that_the_database_no_longer_reaches_ends_by_itself(
    db_url: str, tmp_path: Path
) -> None:
    with cut_off(db_url, tmp_path) as (url, cut), hub(url) as first:
        assert acts(first)

        cut.set()
        began = time.monotonic()
        first.wait(30)

        # In time: PostgreSQL keeps the lock of a silent hub for 12 s.
        assert time.monotonic() - began < SILENCE_S + 3
        assert first.returncode != 0


@contextmanager
def cut_off(url: str, folder: Path) -> Iterator[tuple[str, threading.Event]]:
    """Yield another address of a database, and what silences that without closing anything."""
    (socket_dir,) = parse_qs(urlsplit(url).query)["host"]
    name = ".s.PGSQL.5432"
    cut, over = threading.Event(), threading.Event()

    def forward(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if cut.is_set():
                    over.wait()
                target.sendall(data)

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / name))
        server.listen()
        inner, accepted = socket.socket(socket.AF_UNIX), list[socket.socket]()

        def serve() -> None:
            outer, _ = server.accept()
            accepted.append(outer)
            inner.connect(f"{socket_dir}/{name}")
            threading.Thread(target=forward, args=(outer, inner), daemon=True).start()
            forward(inner, outer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield url.replace(socket_dir, str(folder)), cut
        finally:
            over.set()
            for one in (inner, *accepted):
                one.close()


N_SESSIONS = 3


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
