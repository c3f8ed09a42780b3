"""A JupyterHub as sites have it, on a cluster of its own: stock, with batchspawner."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.lab.alone.page import lines_of
from tests.lab.foreign import layout
from tests.lab.foreign.machine import Machine
from tests.lab.foreign.seed import BUILT
from tests.support.eventually import eventually

ACCOUNT = "jupyterhub"
PORT = 8400
TOKEN = "b" * 32
PASSWORD = "what everybody has here"
# What deploy/up has built, where tests/lab/foreign/init.py shows it. Node.js is a link there.
_PREFIX = Path("/opt/data-scientist-portal")
PROXY = [
    str(BUILT / (_PREFIX / "node/bin/node").resolve().relative_to(_PREFIX)),
    str(BUILT / "proxy/node_modules/configurable-http-proxy/bin/configurable-http-proxy"),
]
SUDOERS = "/etc/sudoers.d/batchspawner"
# For machines with other work; on a quiet one all of these take seconds.
START_TIMEOUT_S = 180
STOP_TIMEOUT_S = 90
VENV_TIMEOUT_S = 600

# What a site has, and what has to stay: authenticator, base_url, service, role, page and route.
CONFIG = """\
from jupyterhub.handlers import BaseHandler

class OwnHandler(BaseHandler):
    def get(self):
        self.finish("a page of the site's own")

c = get_config()
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {password!r}
c.Authenticator.allowed_users = {{"ada", "grace"}}
c.JupyterHub.bind_url = "http://{address}:{port}/jupyter/"
c.JupyterHub.hub_ip = "{address}"
c.JupyterHub.hub_port = {hub_port}
c.JupyterHub.cleanup_servers = False
c.JupyterHub.services = [{{"name": "counter", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [
    {{"name": "counter", "services": ["counter"], "scopes": ["admin:users", "admin:servers"]}}
]
c.JupyterHub.template_paths = ["{folder}/templates"]
c.JupyterHub.extra_handlers = [("/own", OwnHandler)]
c.ConfigurableHTTPProxy.command = {proxy!r}
c.JupyterHub.log_level = "DEBUG"
"""
# The cluster of the tests has GPUs that compute nothing.
SIMULATED = "c.SlurmGPUSpawner.simulated_gpus = True\n"
OWN_PAGE = """\
{% extends "templates/page.html" %}
{% block announcement %}<p>The institute's own header</p>{{ super() }}{% endblock %}
"""


class OwnHub:
    """One hub of the machine's."""

    def __init__(self, machine: Machine, folder: str, values: Mapping[str, str]) -> None:
        self.machine = machine
        self.folder = folder
        self.values = values
        self._process: subprocess.Popen[bytes] | None = None
        machine.write(f"{folder}/templates/page.html", OWN_PAGE)
        machine.run("chown", "-R", ACCOUNT, folder)

    @property
    def url(self) -> str:
        """Where browsers find it, without a slash at the end."""
        return f"http://{layout.HEAD_ADDRESS}:{PORT}/jupyter"

    @property
    def log(self) -> str:
        """What it has said since its last start."""
        return self.machine.read(f"{self.folder}/hub.log")

    def start(self, spawner: str) -> None:
        """Start it with the page's lines for a spawner, and wait until it answers."""
        text = CONFIG.format(
            password=PASSWORD,
            address=layout.HEAD_ADDRESS,
            port=PORT,
            hub_port=PORT + 1,
            token=TOKEN,
            folder=self.folder,
            proxy=PROXY,
        )
        more = SIMULATED if spawner == "slurm-gpu" else ""
        config = f"{self.folder}/jupyterhub_config.py"
        self.machine.write(config, text + more + lines_of(spawner, self.values))
        # Its own folder is the current one: there it keeps its database and its secrets.
        run = f"cd {self.folder} && exec venv/bin/jupyterhub -f {config} > hub.log 2>&1"
        words = self.machine.words("runuser", "-u", ACCOUNT, "--", "bash", "-c", run)
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            eventually(lambda: self.fetch("/hub/health")[0] == 200, timeout_s=START_TIMEOUT_S)
        except AssertionError as error:
            raise AssertionError(self.log[-6000:]) from error

    def stop(self) -> None:
        """Stop it as an administrator does, with its proxy."""
        if self._process is None or self._process.poll() is not None:
            return
        self.machine.run("pkill", "-TERM", "-u", ACCOUNT, "-f", "venv/bin/jupyterhub")
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise
        self._process = None

    def rest(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        """Ask REST as the site's own service; return status and text."""
        words = ("-X", method, "-H", f"Authorization: token {TOKEN}")
        sent = () if body is None else ("-d", json.dumps(body))
        return self.fetch(f"/hub/api{path}", *words, *sent)

    def fetch(self, path: str, *options: str, user: str = "") -> tuple[int, str]:
        """Fetch a page with curl on the head node; cookies are kept by user."""
        jar = f"{self.folder}/cookies-{user}" if user else "/dev/null"
        words = ("curl", "-sS", "-L", "-m", "60", "-b", jar, "-c", jar, "-w", "\n%{http_code}")
        done = self.machine.run(*words, *options, f"{self.url}{path}", is_checked=False)
        text, _, status = done.stdout.rpartition("\n")
        return int(status or 0), text + done.stderr

    def xsrf(self, user: str) -> str:
        """Return the hub's cross-site token of a user's browser."""
        lines = self.machine.read(f"{self.folder}/cookies-{user}").splitlines()
        pairs = [line.split("\t") for line in lines if line.count("\t") == 6]
        return next(
            words[6] for words in pairs if words[2].endswith("/hub/") and words[5] == "_xsrf"
        )

    def log_in(self, user: str) -> None:
        """Log in as with a browser."""
        self.fetch("/hub/login", user=user)
        form = ("--data-urlencode", f"username={user}", "--data-urlencode", f"password={PASSWORD}")
        status, page = self.fetch(f"/hub/login?_xsrf={self.xsrf(user)}", *form, user=user)
        assert status == 200, page

    def lab_page(self, user: str) -> str:
        """Return a user's JupyterLab; empty where there is none."""
        status, page = self.fetch(f"/user/{user}/lab", user=user)
        return page if status == 200 and "<title>JupyterLab<" in page else ""

    def server(self, user: str) -> dict[str, object]:
        """Return what REST says of a user's session; empty where there is none."""
        status, text = self.rest("GET", f"/users/{user}")
        assert status == 200, text
        servers: dict[str, dict[str, object]] = json.loads(text).get("servers", {})
        return servers.get("", {})


def make_account(machine: Machine) -> None:
    """Make the hub's account, with what batchspawner's sites allow it."""
    machine.run("useradd", "--system", "--create-home", ACCOUNT)
    programs = ", ".join(f"/usr/bin/{name}" for name in ("sbatch", "squeue", "scancel"))
    rule = f"{ACCOUNT} ALL=(%{layout.UNIX_GROUP}) NOPASSWD:SETENV: {programs}\n"
    machine.write(SUDOERS, f"Defaults:{ACCOUNT} !requiretty\n{rule}", mode=0o440)
    # Where Slurm looks without being told: batchspawner passes no variable on.
    machine.run("ln", "-sfn", str(layout.SLURM_DIR), "/etc/slurm")


def make_environment(machine: Machine, folder: str, *packages: str) -> None:
    """Make a virtual environment of the site's with packages from the index."""
    machine.run("/usr/bin/python3", "-m", "venv", folder, timeout_s=VENV_TIMEOUT_S)
    install(machine, f"{folder}/bin/pip install -q " + " ".join(f"'{one}'" for one in packages))


def install(machine: Machine, command: str) -> str:
    """Run a command of pip, which needs the index."""
    done = machine.run("sh", "-c", command, has_registries=True, timeout_s=900)
    return done.stdout + done.stderr


def queue(machine: Machine) -> list[list[str]]:
    """Return the jobs of all users: user, name, state and GPUs."""
    text = machine.run("squeue", "--all", "-h", "-o", "%u|%j|%T|%b").stdout
    return [line.split("|") for line in text.splitlines()]


def built_wheels(folder: Path) -> list[Path]:
    """Build the wheels as a release does, and return their paths."""
    from deploy.environments.builder.package import build_wheels
    from deploy.environments.builder.plan import Plan

    with (folder / "log").open("w") as log:
        return build_wheels(Plan(), folder, log)
