"""A JupyterHub of our own on free ports, with the portal's settings, for tests of the pages."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from tests.hub.private_slapd import BASE, PASSWORD, free_port
from tests.support.checkout import PYTHONPATH
from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
INSTALLED_PROXY = Path("/opt/data-scientist-portal/proxy/bin/configurable-http-proxy")
# A busy machine of two cores takes half a minute.
START_TIMEOUT_S = 120

SINFO_LINE = (
    "jupyter|jupyter*|up|1-00:00:00|UNLIMITED|{name}|10.77.0.1|{state}|"
    "{cores_used}/0/0/40|384000|{memory_used}|gpu:v100:{gpus}|gpu:v100:{used}(IDX:N/A)|\n"
)

SETTINGS = """
[site]
name = "Data Scientist Portal"
support = "help@example.com"
simulated_gpus = true
announcements = "{folder}/announcements.toml"

[hub]
address = "127.0.0.1"
api_port = {api_port}
public_port = {public_port}
proxy_api_url = "http://127.0.0.1:{proxy_port}"
state_dir = "{folder}"
admin_users = ["grace"]
# The proxy is configurable-http-proxy as it comes, so the hub itself listens at its address.
internal_tls = false
{hub_lines}
full_admin_users = ["margaret"]

[login]
{login}

[choices]
sessions_per_user = 2

[sharing]
enabled = true

[partitions.jupyter]

[groups.course]
teachers = ["linus"]
"""

LDAP_LOGIN = """\
servers = {servers}
ca_certificates = "{ca}"
user_dn_template = ["uid={{username}},ou=people,{base}"]
allow_all = true
"""

JUPYTERHUB_CONFIG = """
import grp, pwd
from pathlib import Path
from types import SimpleNamespace

import portal.hub.mail.watch
# As in a hub with sessions, which loads the spawner before it makes its routes.
import spawner.spawner
from portal.hub.apply import apply_settings
from portal.hub.settings.loader import load_settings

# The users of the test's directory have no accounts on this host.
def getpwnam(name):
    if name == "ghost":
        raise KeyError(name)
    return SimpleNamespace(pw_name=name, pw_uid=20001, pw_gid=20001)

pwd.getpwnam = getpwnam
# Mail is not waited for so long as a portal's users would.
portal.hub.mail.watch._EVERY_S = 1.0
getgrgid = grp.getgrgid
grp.getgrgid = lambda gid: SimpleNamespace(gr_name="course") if gid == 20001 else getgrgid(gid)

c = get_config()
options = load_settings(Path({settings!r}))
apply_settings(c, options)
c.JupyterHub.spawner_class = "tests.hub.stand_in_spawner.StandInSpawner"
c.StandInSpawner.update(c.SlurmGPUSpawner)
c.ConfigurableHTTPProxy.should_start = True
c.ConfigurableHTTPProxy.command = {proxy!r}
c.JupyterHub.cleanup_servers = True
c.JupyterHub.cleanup_proxy = True
"""


@dataclass
class PrivateHub:
    """A running hub and what its stand-in for a cluster says."""

    url: str
    cluster_path: Path
    log_path: Path
    # Where nodes reach the hub, without the proxy.
    direct_url: str = ""
    pid: int = 0
    # REST interface of its proxy.
    proxy_url: str = ""
    cluster: dict[str, Any] = field(default_factory=dict)

    def set_cluster(self, **changes: Any) -> None:
        """Change what the hub sees of the cluster."""
        self.cluster |= changes
        new = self.cluster_path.with_suffix(".new")
        new.write_text(json.dumps(self.cluster))
        new.replace(self.cluster_path)

    def ask_proxy(self, method: str, path: str = "", **arguments: Any) -> requests.Response:
        """Ask the proxy as the hub does."""
        token = (self.cluster_path.parent / "proxy-token").read_text().strip()
        headers = {"Authorization": f"token {token}"}
        url = f"{self.proxy_url}{path}"
        return requests.request(method, url, headers=headers, timeout=30, **arguments)

    def reset_cluster(self) -> None:
        """Two idle nodes with four GPUs each, a session that starts at once."""
        self.set_cluster(
            sinfo=node_line("node01") + node_line("node02"),
            squeue="",
            slurm_is_down=False,
            failure="",
            accounting_is_down=False,
            accounting_is_slow=False,
            budgets=[],
            gpu_hours=0.0,
            past_sessions=[],
            used_percent=[40, 50],
            accuracy=None,
            forecast_min={},
            ending="",
            end_state="OUT_OF_MEMORY",
            max_gpus=None,
            slurm_answers_after_s=0,
            step=99,
            stop_s=0,
            facts=[],
            ends_at=(datetime.now() + timedelta(hours=8)).isoformat(timespec="seconds"),
        )


def node_line(name: str, *, n_gpus: int = 4, n_used: int = 0, state: str = "idle") -> str:
    """Return sinfo's line for a node."""
    return SINFO_LINE.format(
        name=name,
        state=state,
        gpus=n_gpus,
        used=n_used,
        cores_used=8 * n_used,
        memory_used=49152 * n_used,
    )


@contextlib.contextmanager
def running_hub(
    folder: Path, servers: list[str], ca: Path, hub_lines: str = "", base_url: str = "/"
) -> Iterator[PrivateHub]:
    """Run a hub that asks LDAP, and its proxy; yield it when it answers."""
    login = LDAP_LOGIN.format(servers=json.dumps(servers), ca=ca, base=BASE)
    with running_hub_with(folder, login, hub_lines, base_url=base_url) as hub:
        yield hub


@contextlib.contextmanager
def running_hub_with(
    folder: Path, login: str, hub_lines: str = "", *, base_url: str = "/", **environment: str
) -> Iterator[PrivateHub]:
    """Run a hub with these keys of [login] and [hub], and its proxy; yield it when it answers."""
    folder.mkdir(exist_ok=True)
    below = base_url.rstrip("/")
    hub_lines += f"base_url = {json.dumps(base_url)}\n" if below else ""
    api_port, public_port, proxy_port, server_port = (free_port() for _ in range(4))
    settings = folder / "portal.toml"
    settings.write_text(
        SETTINGS.format(
            api_port=api_port,
            public_port=public_port,
            proxy_port=proxy_port,
            folder=folder,
            login=login,
            hub_lines=hub_lines,
        )
    )
    config = folder / "config.py"
    # As `dsportal run proxy` does: the hub answers what is below no path that it has told.
    proxy = [str(find_proxy()), "--default-target", f"http://127.0.0.1:{api_port}"]
    config.write_text(JUPYTERHUB_CONFIG.format(settings=str(settings), proxy=proxy))
    hub = PrivateHub(
        f"http://127.0.0.1:{public_port}{below}",
        folder / "cluster.json",
        folder / "hub.log",
        f"http://127.0.0.1:{api_port}{below}",
        proxy_url=f"http://127.0.0.1:{proxy_port}/api/routes",
    )
    hub.reset_cluster()
    environment = (
        os.environ
        | environment
        | {
            "PYTHONPATH": PYTHONPATH,
            "STAND_IN_CLUSTER": str(hub.cluster_path),
            "STAND_IN_PORT": str(server_port),
        }
    )
    with hub.log_path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", config],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    hub.pid = process.pid
    try:
        eventually(lambda: answers(process, hub), timeout_s=START_TIMEOUT_S)
        yield hub
    finally:
        process.terminate()
        process.wait(60)


def answers(process: subprocess.Popen[bytes], hub: PrivateHub) -> bool:
    """Return whether the hub answers; raise with its log if it has ended."""
    if process.poll() is not None:
        raise RuntimeError(f"the hub ended:\n{hub.log_path.read_text()[-3000:]}")
    return requests.get(f"{hub.url}/hub/health", timeout=2).ok


def find_proxy() -> Path:
    """Return configurable-http-proxy as deploy/up installs it."""
    return Path(os.environ.get("PORTAL_TEST_PROXY", INSTALLED_PROXY))


class Browser:
    """One user's cookies, as a browser without JavaScript has them."""

    def __init__(self, hub: PrivateHub) -> None:
        self.hub = hub
        self.http = requests.Session()

    def get(self, path: str, **kwargs: Any) -> requests.Response:
        """Open a page."""
        return self.http.get(f"{self.hub.url}{path}", timeout=30, **kwargs)

    def xsrf(self) -> str:
        """Return the hub's cross-site token."""
        path = urlsplit(f"{self.hub.url}/hub/").path
        return next(c.value for c in self.http.cookies if c.name == "_xsrf" and c.path == path)

    def log_in(self, name: str, password: str = PASSWORD) -> requests.Response:
        """Fill in the login form."""
        self.get("/hub/login")
        return self.http.post(
            f"{self.hub.url}/hub/login?next=",
            data={"username": name, "password": password, "_xsrf": self.xsrf()},
            timeout=30,
        )

    def choose(self, name: str, **fields: str) -> requests.Response:
        """Send the form of GPUs."""
        return self.http.post(
            f"{self.hub.url}/hub/spawn/{name}?_xsrf={self.xsrf()}", data=fields, timeout=30
        )

    def stop(self, name: str) -> requests.Response:
        """Stop the session."""
        return self.http.delete(
            f"{self.hub.url}/hub/api/users/{name}/server",
            headers={"X-XSRFToken": self.xsrf()},
            timeout=30,
        )
