"""The server of a session, started as its job starts it, at a hub that is a stand-in."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.lab.benchmarks.session.stand_in_hub import PREFIX, TOKEN, USER, running_hub
from tests.support.checkout import PYTHONPATH
from tests.support.told import told

TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class SessionServer:
    """A session's server, which answers."""

    pid: int
    url: str
    home: Path

    def get(self, path: str) -> requests.Response:
        """Ask as the user."""
        headers = {"Authorization": f"token {TOKEN}"}
        return requests.get(f"{self.url}{path}", headers=headers, timeout=TIMEOUT_S)


@contextmanager
def session_server(
    folder: Path, *, extensions: Sequence[str] = ("portal.server",), **tables: Mapping[str, Any]
) -> Iterator[SessionServer]:
    """Start a server in `folder`, in whose "home" there may be files, and wait for its answer."""
    home, tmp, log_path = folder / "home", folder / "tmp", folder / "session.log"
    home.mkdir(exist_ok=True)
    tmp.mkdir(mode=0o700)
    with running_hub() as hub, log_path.open("wb") as log:
        scopes = f'["access:servers!server={USER}/"]'
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "USER": USER,
            "LANG": "C.UTF-8",
            "PYTHONPATH": PYTHONPATH,
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
            **told(**tables),
        }
        argv = [sys.executable, "-m", "spawner.node.singleuser", "--allow-root"]
        argv += [f"--ServerApp.jpserver_extensions={dict.fromkeys(extensions, True)}"]
        process = subprocess.Popen(argv, env=environment, cwd=home, stdout=log, stderr=log)
        try:
            port = hub.ports.get(timeout=TIMEOUT_S)
            server = SessionServer(process.pid, f"http://127.0.0.1:{port}{PREFIX}", home)
            # The socket listens already: the answer comes once the server runs.
            server.get("api/status").raise_for_status()
            yield server
        except requests.RequestException as error:
            raise AssertionError(log_path.read_text()) from error
        finally:
            process.terminate()
            process.wait(timeout=TIMEOUT_S)
