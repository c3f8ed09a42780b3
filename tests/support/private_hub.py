"""A hub of a test's own on the real cluster: it can be killed without hurting the portal's."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

from tests.support.checkout import CHECKOUT, LIBRARY
from tests.support.eventually import eventually

ENVIRONMENTS = Path("/opt/data-scientist-portal/environments")
PROXY = Path("/opt/data-scientist-portal/proxy/bin/configurable-http-proxy")
# A folder that the nodes see and every user can read.
SHARED_DIR = Path("/opt/data-scientist-portal")
ACCOUNT = "dsportal"
ADDRESS = "10.77.0.1"

# Answers as jupyterhub-singleuser does, and starts in a tenth of the time.
TRIVIAL_SERVER = """\
import http.server, os, signal, sys, time
sys.path.insert(0, {package!r})
from spawner.node import port_report, singleuser
singleuser._log_to_stderr()
if {wait_s}:
    time.sleep({wait_s})
if {exit_code} is not None:
    print("it broke; token=" + os.environ["JUPYTERHUB_API_TOKEN"], flush=True)
    sys.exit({exit_code})
address = singleuser.find_address(os.environ)
resources = singleuser.read_told(os.environ, singleuser.ResourceSettings, "resources")
sock = singleuser.take_port(resources, address)
sock.setblocking(True)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
server = http.server.ThreadingHTTPServer(sock.getsockname(), Handler, bind_and_activate=False)
server.socket.close()
server.socket = sock
port_report.PortReporter(os.environ, sock.getsockname()[1]).report()
server.serve_forever()
"""

CONFIG = """\
import sys
c = get_config()
c.JupyterHub.spawner_class = "spawner.spawner.SlurmGPUSpawner"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.hub_bind_url = "http://{address}:{hub_port}"
c.JupyterHub.bind_url = "http://{address}:{public_port}"
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie_secret"
c.JupyterHub.cleanup_servers = False
c.JupyterHub.cleanup_proxy = False
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.auth_token = "{token}"
c.JupyterHub.services = [{{"name": "tester", "api_token": "{token}"}}]
c.JupyterHub.load_roles = [
    {{
        "name": "tester",
        "services": ["tester"],
        "scopes": ["admin:users", "admin:servers", "tokens"],
    }}
]
c.JupyterHub.log_level = "DEBUG"
c.SlurmGPUSpawner.server_argv = {server_argv!r}
c.SlurmGPUSpawner.simulated_gpus = True
for name, value in {traits!r}.items():
    c.SlurmGPUSpawner[name] = value
"""


def free_ports(n_ports: int) -> list[int]:
    """Return ports that nothing listens on now."""
    sockets = [socket.socket() for _ in range(n_ports)]
    for sock in sockets:
        sock.bind(("127.0.0.1", 0))
    ports = [int(sock.getsockname()[1]) for sock in sockets]
    for sock in sockets:
        sock.close()
    return ports


class PrivateHub:
    """A hub and its proxy, run as the hub's account from this checkout."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="private-hub-", dir="/tmp"))
        self.shared = Path(tempfile.mkdtemp(prefix="private-hub-", dir=SHARED_DIR))
        self.shared.chmod(0o755)
        for package in (CHECKOUT / "spawner", LIBRARY / "dsportal"):
            shutil.copytree(package, self.shared / "package" / package.name)
        shutil.chown(self.folder, ACCOUNT)
        self.python_path = str(self.shared / "package")
        self.token = secrets.token_hex(16)
        self.hub_port, self.public_port, self.proxy_port = free_ports(3)
        self.address = f"http://{ADDRESS}:{self.hub_port}/hub"
        self.log_path = self.folder / "hub.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._proxy = self.run(
            self.folder / "proxy.log",
            [
                *(str(PROXY), "--ip", ADDRESS, "--port", str(self.public_port)),
                *("--api-ip", "127.0.0.1", "--api-port", str(self.proxy_port)),
                *("--default-target", f"http://{ADDRESS}:{self.hub_port}"),
            ],
        )

    def start(self, *, wait_s: float = 0, exit_code: int | None = None, **traits: Any) -> None:
        """Have a hub with these settings: start it, start it again, or leave it as it is.

        Args:
            exit_code: With it the server ends at once in its place.
        """
        server = self.shared / f"server-{wait_s}-{exit_code}"
        text = TRIVIAL_SERVER.format(
            package=str(self.shared / "package"), wait_s=wait_s, exit_code=exit_code
        )
        server.write_text(f"#!/usr/bin/python3 -IB\n{text}")
        server.chmod(0o755)
        config = self.folder / "config.py"
        text = self.config_text(server, traits)
        if self.process is not None and self.process.poll() is None and config.read_text() == text:
            return
        self.kill()
        config.write_text(text)
        self.start_as_before()

    def start_as_before(self) -> None:
        """Start the hub with the settings that it had, if it does not run."""
        if self.process is not None and self.process.poll() is None:
            return
        argv = [str(ENVIRONMENTS / "hub/bin/jupyterhub"), "-f", str(self.folder / "config.py")]
        self.process = self.run(self.log_path, argv)
        eventually(lambda: requests.get(f"{self.address}/health", timeout=5).ok, timeout_s=180)

    def config_text(self, server: Path, traits: Mapping[str, Any]) -> str:
        """Return the hub's configuration."""
        return CONFIG.format(
            address=ADDRESS,
            hub_port=self.hub_port,
            public_port=self.public_port,
            proxy_port=self.proxy_port,
            folder=self.folder,
            token=self.token,
            server_argv=[str(server)],
            traits=dict(traits),
        )

    @property
    def pid(self) -> int:
        """Process id of the hub."""
        if self.process is None:
            raise RuntimeError("the hub was not started")
        return self.process.pid

    @property
    def public_url(self) -> str:
        """Where browsers reach the proxy."""
        return f"http://{ADDRESS}:{self.public_port}"

    def kill(self) -> None:
        """End the hub as a crash does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)

    def close(self) -> None:
        """Take everything away."""
        self.kill()
        self._proxy.terminate()
        self._proxy.wait(10)
        shutil.rmtree(self.folder)
        shutil.rmtree(self.shared)

    def rest(
        self, method: str, path: str, body: Any = None, *, token: str = "", timeout_s: float = 60
    ) -> requests.Response:
        """Call REST as a service that may do anything, or with another token."""
        return requests.request(
            method,
            f"{self.address}/api{path}",
            json=body,
            headers={"Authorization": f"token {token or self.token}"},
            timeout=timeout_s,
        )

    def server(self, user: str) -> dict[str, Any]:
        """Return what REST says about a user's server; empty where there is none."""
        answer: dict[str, Any] = self.rest("GET", f"/users/{user}").json()
        servers: dict[str, dict[str, Any]] = answer.get("servers", {})
        return servers.get("", {})

    def session(self, user: str) -> dict[str, Any]:
        """Return what the hub's database keeps of a user's session."""
        state = self.server(user).get("state") or {}
        session: dict[str, Any] = state.get("session", {})
        return session

    def routes(self) -> dict[str, Any]:
        """Return what the proxy sends where."""
        answer: dict[str, Any] = requests.get(
            f"http://127.0.0.1:{self.proxy_port}/api/routes",
            headers={"Authorization": f"token {self.token}"},
            timeout=30,
        ).json()
        return answer

    def log(self) -> str:
        """Return the hub's log."""
        return self.log_path.read_text(errors="replace")

    def run(self, log_path: Path, argv: list[str]) -> subprocess.Popen[bytes]:
        with log_path.open("ab") as log:
            return subprocess.Popen(
                argv,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=ACCOUNT,
                group=ACCOUNT,
                extra_groups=[],
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self.folder),
                    "PYTHONPATH": self.python_path,
                    "CONFIGPROXY_AUTH_TOKEN": self.token,
                    "LANG": "C.UTF-8",
                },
            )
