"""The memory of a session's server, started as its job starts it, at a hub that is a stand-in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from tests.benchmarks.session.stand_in_hub import PREFIX, TOKEN, USER, running_hub

CHECKOUT = Path(__file__).parents[4]
TIMEOUT_S = 120
MIB = 1024 * 1024
PIECE = os.urandom(4 * MIB)
# A piece as it is received and as it is written, and what else a few hundred requests leave.
TOLERANCE_MIB = 24


@dataclass(frozen=True, slots=True)
class Server:
    """A session's server."""

    pid: int
    url: str
    home: Path

    def upload(self, name: str, n_mib: int) -> int:
        """Upload a file; return the most memory that the server held after a piece of it, MiB."""
        size = n_mib * MIB
        most_mib = 0
        with requests.Session() as http:
            http.headers["Authorization"] = f"token {TOKEN}"
            for offset in range(0, size, len(PIECE)):
                place = {"path": name, "size": size, "modified": 1, "offset": offset}
                url = f"{self.url}portal/api/uploads"
                answer = http.put(url, params=place, data=PIECE, timeout=TIMEOUT_S)
                answer.raise_for_status()
                most_mib = max(most_mib, self.anonymous_mib())
        return most_mib

    def anonymous_mib(self) -> int:
        """Return the memory that belongs to no file: what the server itself has allocated."""
        for line in Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) // 1024
        raise LookupError("Anonymous")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    home, tmp, log_path = tmp_path / "home", tmp_path / "tmp", tmp_path / "session.log"
    home.mkdir()
    tmp.mkdir(mode=0o700)
    with running_hub() as hub, log_path.open("wb") as log:
        scopes = f'["access:servers!server={USER}/"]'
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "USER": USER,
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(CHECKOUT),
            "TMPDIR": str(tmp),
            "SLURM_TMPDIR": str(tmp),
            "JUPYTERHUB_API_TOKEN": TOKEN,
            "JUPYTERHUB_API_URL": hub.api,
            "JUPYTERHUB_ACTIVITY_URL": f"{hub.api}/users/{USER}/activity",
            "JUPYTERHUB_BASE_URL": "/",
            "JUPYTERHUB_CLIENT_ID": f"jupyterhub-user-{USER}",
            "JUPYTERHUB_HOST": "",
            "JUPYTERHUB_OAUTH_CALLBACK_URL": f"{PREFIX}oauth_callback",
            "JUPYTERHUB_OAUTH_ACCESS_SCOPES": scopes,
            "JUPYTERHUB_OAUTH_SCOPES": scopes,
            "JUPYTERHUB_SERVER_NAME": "",
            "JUPYTERHUB_SERVICE_PREFIX": PREFIX,
            "JUPYTERHUB_SERVICE_URL": f"http://127.0.0.1:0{PREFIX}",
            "JUPYTERHUB_USER": USER,
            "PORTAL_NODE_ADDRESS": "127.0.0.1",
            "PORTAL_SETTINGS": '{"resumable_uploads": true}',
        }
        argv = [sys.executable, "-m", "spawner.node.singleuser", "--allow-root"]
        argv += ["--ServerApp.jpserver_extensions={'portal.server': True}"]
        process = subprocess.Popen(argv, env=environment, cwd=home, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{hub.ports.get(timeout=TIMEOUT_S)}{PREFIX}"
            # The socket listens already: the answer comes once the server runs.
            requests.get(
                f"{url}api/status", headers={"Authorization": f"token {TOKEN}"}, timeout=TIMEOUT_S
            ).raise_for_status()
            yield Server(process.pid, url, home)
        finally:
            process.terminate()
            process.wait(timeout=TIMEOUT_S)


def test_an_upload_of_any_size_takes_as_little_memory(server: Server) -> None:
    before_mib = server.anonymous_mib()

    for n_mib in (64, 256):
        name = f"{n_mib}.bin"
        most_mib = server.upload(name, n_mib)

        assert (server.home / name).stat().st_size == n_mib * MIB
        assert most_mib - before_mib < TOLERANCE_MIB, f"after {n_mib} MiB"
        (server.home / name).unlink()
