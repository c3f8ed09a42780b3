"""Two hubs that differ in their spawner only: the portal's, and batchspawner as it comes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.private_hub import ACCOUNT, ADDRESS, ENVIRONMENTS, PrivateHub

USER = "grace"
SERVER_ENVIRONMENT = ENVIRONMENTS / "server"
SUDOERS = Path("/etc/sudoers.d/data-scientist-portal-benchmark")

_MORE = """
c.JupyterHub.allow_named_servers = True
c.JupyterHub.concurrent_spawn_limit = 0
c.JupyterHub.log_level = "INFO"
"""

# Only what names this site's programs and sizes; everything else is batchspawner's default.
_STOCK = r"""
import batchspawner.api
import jupyterhub.apihandlers
# The portal's package, which is installed beside it, takes this route away.
jupyterhub.apihandlers.default_handlers.append(
    (r"/api/batchspawner", batchspawner.api.BatchSpawnerAPIHandler)
)
c.JupyterHub.spawner_class = "batchspawner.SlurmSpawner"
c.Spawner.cmd = {cmd!r}
c.Spawner.hub_connect_url = "http://{address}:{hub_port}"
c.SlurmSpawner.batchspawner_singleuser_cmd = {wrapper!r}
# The head does not know the nodes by their names, as it would elsewhere.
c.SlurmSpawner.state_exechost_re = r"\s+node0(\d)$"
c.SlurmSpawner.state_exechost_exp = r"10.77.0.1\1"
c.SlurmSpawner.req_memory = "{memory_mib}M"
c.SlurmSpawner.req_nprocs = "{n_cores}"
c.SlurmSpawner.req_runtime = "2:00:00"
"""

# Like the server of the tests, but it reports its port as batchspawner's own wrapper does.
_STOCK_TRIVIAL_SERVER = """\
#!/usr/bin/python3 -IB
import http.server, json, os, signal, socket, urllib.request
sock = socket.create_server(("0.0.0.0", 0), backlog=16)
port = sock.getsockname()[1]
urllib.request.urlopen(urllib.request.Request(
    os.environ["JUPYTERHUB_API_URL"] + "/batchspawner",
    data=json.dumps({"port": port}).encode(),
    headers={"Authorization": "token " + os.environ["JUPYTERHUB_API_TOKEN"]},
))
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
server = http.server.ThreadingHTTPServer(("0.0.0.0", port), Handler, bind_and_activate=False)
server.socket.close()
server.socket = sock
server.serve_forever()
"""


class PortalHub(PrivateHub):
    """The portal's spawner with room for many sessions of one user."""

    def config_text(self, server: Path, traits: Mapping[str, Any]) -> str:
        return super().config_text(server, traits) + _MORE

    def start_real(self) -> None:
        """Start the hub; its sessions are JupyterLab."""
        self.start(
            server_argv=[str(SERVER_ENVIRONMENT / "bin/dsportal-singleuser")],
            cores_per_gpu=1,
            memory_mib_per_gpu=1024,
            allow_cpu_only=True,
        )

    def start_trivial(self) -> None:
        """Start the hub; its sessions are small servers."""
        self.start(cores_per_gpu=1, memory_mib_per_gpu=128, allow_cpu_only=True)


class StockHub(PrivateHub):
    """batchspawner's SlurmSpawner with its own defaults."""

    _is_real = True

    def config_text(self, server: Path, traits: Mapping[str, Any]) -> str:
        trivial = self.shared / "stock-server"
        trivial.write_text(_STOCK_TRIVIAL_SERVER)
        trivial.chmod(0o755)
        python = f"{SERVER_ENVIRONMENT}/bin/python"
        real = f"/usr/bin/env PYTHONPATH={self._batchspawner_dir()} {python}"
        return (
            super().config_text(server, {})
            + _MORE
            + _STOCK.format(
                address=ADDRESS,
                hub_port=self.hub_port,
                cmd=[str(SERVER_ENVIRONMENT / "bin/jupyterhub-singleuser")],
                wrapper=f"{real} -m batchspawner.singleuser" if self._is_real else str(trivial),
                memory_mib=1024 if self._is_real else 128,
                n_cores=1,
            )
        )

    def start_real(self) -> None:
        """Start the hub; its sessions are JupyterLab."""
        self._is_real = True
        self.start()

    def start_trivial(self) -> None:
        """Start the hub; its sessions are small servers."""
        self._is_real = False
        self.start()

    def _batchspawner_dir(self) -> Path:
        # The nodes' own environment has no batchspawner, which the portal does not need there.
        (source,) = (ENVIRONMENTS / "hub").glob("lib/python3*/site-packages/batchspawner")
        target = self.shared / "stock"
        if not target.exists():
            shutil.copytree(source, target / "batchspawner")
        return target


@contextmanager
def sudo_for_stock() -> Iterator[None]:
    """Let the hub's account run what batchspawner runs, as the benchmark's user, for a while."""
    programs = ", ".join(f"/usr/bin/{name}" for name in ("sbatch", "squeue", "scancel"))
    text = f"Defaults:{ACCOUNT} !requiretty\n{ACCOUNT} ALL=({USER}) NOPASSWD:SETENV: {programs}\n"
    SUDOERS.write_text(text)
    os.chmod(SUDOERS, 0o440)
    try:
        yield
    finally:
        SUDOERS.unlink()
