"""A site of thousands of sessions: real hub, database, watcher and proxy, and Slurm's stand-in."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Self

import requests

from portal.hub.admin.tokens import OPERATOR, PROXY, ensure_token, read_token
from tests.lab.benchmarks.scale.sessions import FILL
from tests.lab.benchmarks.scale.slurm import write_commands
from tests.support.checkout import PYTHONPATH
from tests.support.eventually import eventually
from tests.support.private_hub import ENVIRONMENTS, free_ports

ADDRESS = "127.0.0.1"
PYTHON = ENVIRONMENTS / "hub/bin/python"

_SETTINGS = """
[hub]
address = "127.0.0.1"
api_port = {hub_port}
public_port = {public_port}
proxy_api_url = "http://127.0.0.1:{proxy_port}"
state_dir = "{folder}"
internal_tls = false
{database}
[login]
servers = ["ldap://127.0.0.1:389"]
ca_certificates = "/etc/ssl/certs/ca-certificates.crt"
user_dn_template = ["uid={{username}},dc=example"]
allow_all = true
[resources]
port_min = 1024
port_max = 65535
[partitions.gpu]
"""

# JupyterHub's own rounds, every five minutes by default, come several times in a measurement.
ROUNDS_S = 25
_CONFIG = """
import asyncio, functools, pwd, time
from pathlib import Path
from types import SimpleNamespace
from jupyterhub.auth import DummyAuthenticator
from portal.hub.apply import apply_settings
from portal.hub.auth.authenticator_mixin import AuthenticatorMixin
from portal.hub.settings.loader import load_settings
from spawner.session import cluster
cluster.Slurm = functools.partial(cluster.Slurm, path="{bin_dir}:/usr/bin:/bin")
c = get_config()
apply_settings(c, load_settings(Path("{folder}/portal.toml")))
c.SlurmGPUSpawner.launcher_argv = ["{bin_dir}/launcher"]
c.SlurmGPUSpawner.sudo_argv = ["{bin_dir}/as-user"]
c.SlurmGPUSpawner.orphan_interval_s = {rounds_s}
c.JupyterHub.last_activity_interval = {rounds_s}
c.JupyterHub.proxy_check_interval = {rounds_s}
# The users have no accounts on this host.
pwd.getpwnam = lambda name: SimpleNamespace(
    pw_name=name, pw_uid=20001, pw_gid=20001, pw_dir="/tmp", pw_shell="/bin/sh"
)
class AnyPassword(AuthenticatorMixin, DummyAuthenticator):
    pass
c.JupyterHub.authenticator_class = AnyPassword
c.AnyPassword.allow_all = True

# How long each step of the loop takes; nobody is answered meanwhile.
run_step = asyncio.events.Handle._run
steps = open("{folder}/steps", "w", buffering=1)
def timed(handle):
    began = time.monotonic()
    run_step(handle)
    took = time.monotonic() - began
    if took > 0.02:
        # Of a task's first step, and of one behind a plain `sleep(0)`, the task is not known.
        task = getattr(handle._callback, "__self__", None)
        what = task.get_coro() if isinstance(task, asyncio.Task) else handle._callback
        name = getattr(what, "__qualname__", what)
        print(began, took, name, file=steps)
asyncio.events.Handle._run = timed
"""


class Site:
    """One hub with its sessions and its proxy, which ends with the block.

    Attributes:
        tokens: Of each session's server, by its user.
    """

    def __init__(
        self,
        folder: Path,
        *,
        n_sessions: int,
        n_nodes: int,
        n_jobs: int,
        server_port: int,
        db_url: str = "",
    ) -> None:
        self.folder, self.n_sessions = folder, n_sessions
        hub_port, public_port, self._proxy_port = free_ports(3)
        values = {
            **{"bin_dir": folder / "bin", "hub_port": hub_port, "public_port": public_port},
            **{"proxy_port": self._proxy_port, "rounds_s": ROUNDS_S},
            "database": f'db_url = "{db_url}"\nfailover = true' if db_url else "",
        }
        self._values = values
        self._configure(folder)
        write_commands(
            folder, n_nodes=n_nodes, n_jobs=n_jobs, n_sessions=n_sessions, port=server_port
        )
        (folder / "sessions").touch()
        self._server_port = server_port
        self.url = f"http://{ADDRESS}:{hub_port}/hub"
        self.tokens: dict[str, str] = {}
        ensure_token(folder, PROXY)
        self._proxy = self._run(
            "proxy", "-m", "portal.cli", "run", "proxy", f"--settings={folder}/portal.toml"
        )
        self._hub: subprocess.Popen[bytes] | None = None
        self._standby: subprocess.Popen[bytes] | None = None
        self._database = (
            db_url.replace("postgresql:", "postgresql+psycopg:")
            or f"sqlite:///{folder}/jupyterhub.sqlite"
        )

    def _configure(self, folder: Path) -> None:
        for name, text in {"portal.toml": _SETTINGS, "config.py": _CONFIG}.items():
            (folder / name).write_text(text.format(folder=folder, **self._values))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self._standby is not None:
            self._standby.kill()
            self._standby.wait(10)
        self._proxy.terminate()
        self._proxy.wait(10)

    @property
    def pid(self) -> int:
        """Process id of the hub."""
        if self._hub is None:
            raise RuntimeError("the hub was not started")
        return self._hub.pid

    def start(self) -> None:
        """Start the hub, and wait until it answers."""
        self._hub = self._run("hub", "-m", "jupyterhub", "-f", f"{self.folder}/config.py")
        self._wait()

    def start_standby(self) -> None:
        """Start a hub that waits, as on another host: it has copies of the secrets."""
        folder = self.folder / "standby"
        folder.mkdir(mode=0o700)
        for secret in (self.folder / "cookie_secret", *self.folder.glob("*-token")):
            shutil.copy(secret, folder)
        self._configure(folder)
        self._standby = self._run("standby", "-m", "jupyterhub", "-f", f"{folder}/config.py")
        eventually(lambda: "waits to take its place" in self.log("standby"), timeout_s=60)

    def take_over(self) -> int:
        """Wait until the standby answers in place of the hub; return how the hub ended."""
        if self._hub is None:
            raise RuntimeError("the hub was not started")
        exit_code = self._hub.wait(60)
        self._hub, self._standby = self._standby, None
        self._wait()
        return exit_code

    def log(self, name: str) -> str:
        """Return the log of a process."""
        return (self.folder / f"{name}.log").read_text()

    def _wait(self) -> None:
        try:
            eventually(lambda: requests.get(f"{self.url}/health", timeout=5).ok, timeout_s=180)
        except AssertionError as error:
            raise RuntimeError(self.log("hub")[-3000:]) from error

    def kill(self) -> None:
        """End the hub as a crash does."""
        if self._hub is not None:
            self._hub.send_signal(signal.SIGKILL)
            self._hub.wait(10)

    def fill(self) -> None:
        """Write the sessions into the database of a hub that was started once and killed."""
        tokens = self.folder / "tokens"
        done = subprocess.run(
            [
                *(str(PYTHON), "-c", FILL, self._database),
                *(f"{self.folder}/cookie_secret", ADDRESS, str(self._server_port)),
                *(str(self.n_sessions), str(tokens)),
            ],
            env={"PYTHONPATH": PYTHONPATH, "PATH": "/usr/bin:/bin"},
            check=True,
            capture_output=True,
            text=True,
        )
        (self.folder / "sessions").write_text(done.stdout)
        self.tokens = dict(line.split() for line in tokens.read_text().splitlines())

    def count_ready(self) -> int:
        """Return how many sessions are ready."""
        answer = requests.get(
            f"{self.url}/api/users?state=ready&limit=1",
            headers={
                "Authorization": f"token {self.operator}",
                "Accept": "application/jupyterhub-pagination+json",
            },
            timeout=60,
        ).json()
        return int(answer["_pagination"]["total"])

    @property
    def operator(self) -> str:
        """Token of the site's operator."""
        return read_token(self.folder, OPERATOR)

    def count_routes(self) -> int:
        """Return how many routes the proxy has; one of them is the hub's."""
        answer: dict[str, Any] = requests.get(
            f"http://{ADDRESS}:{self._proxy_port}/api/routes",
            headers={"Authorization": f"token {read_token(self.folder, PROXY)}"},
            timeout=60,
        ).json()
        return len(answer)

    def steps_ms(self, since: float) -> list[float]:
        """Return how long steps of the hub's loop took, those above 20 ms.

        Args:
            since: By `time.monotonic`.
        """
        lines = (
            line.split(maxsplit=2) for line in (self.folder / "steps").read_text().splitlines()
        )
        return [1000 * float(took_s) for at, took_s, *_ in lines if float(at) >= since]

    def _run(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [str(PYTHON), *words],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": PYTHONPATH},
                stdout=log,
                stderr=log,
            )
