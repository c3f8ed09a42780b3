"""The portal's proxy with some workers and without a hub, and its API as the hub asks it."""

import os
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import psutil
import requests

from deploy.one_machine.layout import PREFIX_DIR
from portal.hub.network.authority import ensure_certificates
from portal.hub.settings.loader import load_settings
from portal.site.commands.services import proxy_argv
from tests.support.eventually import eventually
from tests.support.pinned_server import ADDRESS, PinnedServer
from tests.support.private_hub import free_ports

_SETTINGS = """
[hub]
address = "127.0.0.1"
api_port = {hub}
public_port = {public}
proxy_api_url = "http://127.0.0.1:{api}"
proxy_workers = {n_workers}
state_dir = "{folder}"

[login]
servers = ["ldap://127.0.0.1:389"]
ca_certificates = "/etc/data-scientist-portal/ldap-ca.pem"
user_dn_template = ["uid={{username}},ou=people,dc=portal,dc=example"]

[partitions.jupyter]
"""
TOKEN = "of-a-test"


class SiteProxy:
    """It runs with internal TLS until the block ends.

    Attributes:
        certificates_dir: What the proxy shows to sessions, and who signed it.
    """

    def __init__(self, folder: Path, n_workers: int) -> None:
        hub, self.port, self._api_port = free_ports(3)
        self.api_url = f"http://{ADDRESS}:{self._api_port}"
        self.url = f"http://{ADDRESS}:{self.port}"
        self._n_workers = n_workers
        path = folder / "portal.toml"
        path.write_text(
            _SETTINGS.format(
                hub=hub, public=self.port, api=self._api_port, n_workers=n_workers, folder=folder
            )
        )
        self._settings = load_settings(path)
        self.certificates_dir = self._settings.hub.certificates_dir
        ensure_certificates(self.certificates_dir, ADDRESS)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(30)

    def start(self, token: str = TOKEN) -> None:
        """Start it with a token, and wait until all its workers serve."""
        self._token = token
        self.process = self._popen(self._api_port)
        eventually(lambda: self.ask("GET", "start").json()["workers"] == self._n_workers, 60)
        # No hub is there, so this is the proxy's own answer.
        eventually(lambda: requests.get(self.url, timeout=5).status_code == 503, timeout_s=60)

    def start_second(self, api_port: int) -> subprocess.Popen[bytes]:
        """Start another one on the same port for users."""
        return self._popen(api_port)

    def _popen(self, api_port: int) -> subprocess.Popen[bytes]:
        hub = replace(self._settings.hub, proxy_api_url=f"http://{ADDRESS}:{api_port}")
        return subprocess.Popen(
            proxy_argv(replace(self._settings, hub=hub), PREFIX_DIR),
            env={**os.environ, "CONFIGPROXY_AUTH_TOKEN": self._token},
            stdout=subprocess.DEVNULL,
        )

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        """Ask the API as the hub does."""
        answer = requests.request(
            method,
            f"{self.api_url}/api/{path}",
            json=body,
            headers={"Authorization": f"token {self._token}"},
            timeout=60,
        )
        answer.raise_for_status()
        return answer

    def add(self, user: str, server: PinnedServer, certificate: str = "") -> None:
        """Have a user's session at a server, recognised by its own or another certificate."""
        proof = certificate or server.certificate
        self.ask("POST", f"routes/user/{user}", {"target": server.url, "certificate": proof})

    @property
    def processes(self) -> list[psutil.Process]:
        """The first one, and its workers."""
        first = psutil.Process(self.process.pid)
        return [first, *first.children()]

    def worker_of(self, sock: socket.socket) -> int:
        """Return the process id of the worker that has the other end of a connection."""
        ends = (sock.getpeername(), sock.getsockname())
        for worker in self.processes[1:]:
            if any((one.laddr, one.raddr) == ends for one in worker.net_connections("tcp")):
                return int(worker.pid)
        raise AssertionError("no worker has this connection")
