"""Two hubs that differ in their spawner only, and two servers that differ in how they start."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Any

from tests.support.private_hub import ACCOUNT, ADDRESS, ENVIRONMENTS, PrivateHub

PORTAL_USER = "grace"
# Another one, so that Slurm's counts of their questions can be told apart.
STOCK_USER = "ada"
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


# What the portal starts in a job, but with JupyterHub's own server.
_STOCK_SERVER_FOR_PORTAL = """\
#!{python} -B
import os
from spawner.node import port_report, singleuser
address = singleuser.find_address(os.environ)
resources = singleuser.read_told(os.environ, singleuser.ResourceSettings, "resources")
sock = singleuser.take_port(resources, address)
port = sock.getsockname()[1]
sock.close()
os.environ["JUPYTERHUB_SERVICE_URL"] = singleuser.service_url(os.environ, address, port)
port_report.PortReporter(os.environ, port).report()
os.execv({server!r}, [{server!r}])
"""

# What batchspawner's wrapper does, but with the portal's server.
_PORTAL_SERVER_FOR_STOCK = """\
#!{python} -B
import json, os, sys
os.environ["PORTAL_SETTINGS"] = json.dumps({{"resources": {{}}}})
from spawner.node import port_report, singleuser
port_report.PORT_PATH = "batchspawner"
sys.argv = sys.argv[:1]
singleuser.main()
"""


class Server(Enum):
    """What runs in a job.

    Attributes:
        STOCK: JupyterHub's own; under batchspawner with its wrapper.
    """

    PORTAL = auto()
    STOCK = auto()
    TRIVIAL = auto()


class PortalHub(PrivateHub):
    """The portal's spawner with room for many sessions of one user."""

    user = PORTAL_USER

    def config_text(self, server: Path, traits: Mapping[str, Any]) -> str:
        return super().config_text(server, traits) + _MORE

    def serve(self, server: Server) -> None:
        """Start the hub for sessions with a `server`."""
        self.kill()
        programs = {
            Server.PORTAL: SERVER_ENVIRONMENT / "bin/dsportal-singleuser",
            Server.STOCK: _write_program(self.shared / "stock-server", _STOCK_SERVER_FOR_PORTAL),
        }
        own = {} if server is Server.TRIVIAL else {"server_argv": [str(programs[server])]}
        memory_gib = 0.125 if server is Server.TRIVIAL else 1.0
        # As the others ask for.
        self.start(
            **own, cores_without_gpu=1, memory_without_gpu_gib=memory_gib, allow_cpu_only=True
        )


class StockHub(PrivateHub):
    """batchspawner's SlurmSpawner with its own defaults."""

    user = STOCK_USER
    _server = Server.STOCK

    def config_text(self, server: Path, traits: Mapping[str, Any]) -> str:
        trivial = self.shared / "trivial-server"
        trivial.write_text(_STOCK_TRIVIAL_SERVER)
        trivial.chmod(0o755)
        ours = _write_program(self.shared / "portal-server", _PORTAL_SERVER_FOR_STOCK)
        python = f"{SERVER_ENVIRONMENT}/bin/python"
        real = f"/usr/bin/env PYTHONPATH={self._batchspawner_dir()} {python}"
        wrappers = {
            Server.STOCK: f"{real} -m batchspawner.singleuser",
            Server.PORTAL: str(ours),
            Server.TRIVIAL: str(trivial),
        }
        return (
            super().config_text(server, {})
            + _MORE
            + _STOCK.format(
                address=ADDRESS,
                hub_port=self.hub_port,
                cmd=[str(SERVER_ENVIRONMENT / "bin/jupyterhub-singleuser")],
                wrapper=wrappers[self._server],
                memory_mib=128 if self._server is Server.TRIVIAL else 1024,
                n_cores=1,
            )
        )

    def serve(self, server: Server) -> None:
        """Start the hub for sessions with a `server`."""
        self.kill()
        self._server = server
        self.start()

    def _batchspawner_dir(self) -> Path:
        # The nodes' own environment has no batchspawner, which the portal does not need there.
        (source,) = (ENVIRONMENTS / "hub").glob("lib/python3*/site-packages/batchspawner")
        target = self.shared / "stock"
        if not target.exists():
            shutil.copytree(source, target / "batchspawner")
        return target


def _write_program(path: Path, template: str) -> Path:
    path.write_text(
        template.format(
            python=SERVER_ENVIRONMENT / "bin/python",
            server=str(SERVER_ENVIRONMENT / "bin/jupyterhub-singleuser"),
        )
    )
    path.chmod(0o755)
    return path


@contextmanager
def sudo_for_stock() -> Iterator[None]:
    """Let the hub's account run what batchspawner runs, as the benchmark's user, for a while."""
    programs = ", ".join(f"/usr/bin/{name}" for name in ("sbatch", "squeue", "scancel"))
    rule = f"{ACCOUNT} ALL=({STOCK_USER}) NOPASSWD:SETENV: {programs}"
    SUDOERS.write_text(f"Defaults:{ACCOUNT} !requiretty\n{rule}\n")
    os.chmod(SUDOERS, 0o440)
    try:
        yield
    finally:
        SUDOERS.unlink()
