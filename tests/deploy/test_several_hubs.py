"""Two hubs that share the users of this machine's portal, and back to one."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from deploy.one_machine.supervisor import pid_of
from tests.support.kernels import run_cell
from tests.support.portal_client import ADDRESS, PortalClient, sessions_of
from tests.support.put_back import put_back

pytestmark = [pytest.mark.cluster, pytest.mark.release]

UP = Path(__file__).parents[2] / "deploy/up"
# Of hub a and of hub b.
USERS = {"ada": "a", "grace": "b"}


def run(*argv: str | Path) -> str:
    """Run a command of the administrator; return what it printed."""
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=300).stdout


@pytest.fixture(scope="module")
def clients() -> Iterator[dict[str, PortalClient]]:
    """Yield a user of each hub, logged in."""
    shared = "/var/lib/data-scientist-portal/hubs"
    with put_back((str(UP),), ("rm", "-rf", shared)):
        run(UP, "--hubs", "2")
        clients = {}
        for user, hub in USERS.items():
            run("dsportal", "users", "move", user, f"/{hub}/", "--now", "--yes")
            clients[user] = PortalClient(user, address=f"{ADDRESS}/{hub}")
            assert urlsplit(clients[user].login().url).path == f"/{hub}/hub/home"
        yield clients


@dataclass
class _Server:
    """ada's session, as `run_cell` asks it."""

    host: str
    http: requests.Session


async def test_a_cell_runs_over_the_page_of_all_hubs(clients: dict[str, PortalClient]) -> None:
    ada = clients["ada"]
    token = ada.token()
    ada.start(token, gpus=1)
    try:
        server = _Server(ada.address, requests.Session())
        server.http.headers["Authorization"] = f"token {token}"
        assert await run_cell(server, "python3", "print(6 * 7)") == "42\n"
    finally:
        ada.stop(token)


def test_a_hub_that_is_killed_takes_no_session_with_it(clients: dict[str, PortalClient]) -> None:
    tokens = {user: client.token() for user, client in clients.items()}
    try:
        for user, client in clients.items():
            client.start(tokens[user], gpus=1)
        jobs = {user: sessions_of(user)[0].job_id for user in USERS}
        comments = {run("squeue", "-h", "-o", "%k", "-j", str(job)) for job in jobs.values()}
        assert len(comments) == len(USERS), "each job names its own hub"

        os.kill(pid_of("hub") or 0, signal.SIGKILL)

        for user, hub in USERS.items():
            answer = requests.get(
                f"{ADDRESS}/{hub}/user/{user}/api/status",
                headers={"Authorization": f"token {tokens[user]}"},
                timeout=30,
            )
            # The session of the killed hub cannot ask it about a token it has not seen.
            assert answer.ok or hub == "a"
        assert clients["grace"].http.get(f"{ADDRESS}/b/hub/home", timeout=30).ok
        for _ in range(3):
            page = requests.get(f"{ADDRESS}/", timeout=30)
            assert urlsplit(page.url).path == "/b/hub/login"
        run(UP, "--hubs", "2")
        assert clients["ada"].server(tokens["ada"])["ready"]
        assert {user: sessions_of(user)[0].job_id for user in USERS} == jobs
    finally:
        for user, client in clients.items():
            client.stop(tokens[user])
