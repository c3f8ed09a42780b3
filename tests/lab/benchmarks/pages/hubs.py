"""The hubs whose pages are timed: the portal's, JupyterHub as it comes, and jupyterhub_moss's."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.lab.benchmarks.pages.slurm_stand_in import SlurmStandIn
from tests.support.checkout import PYTHONPATH
from tests.support.eventually import eventually
from tests.support.private_hub import ENVIRONMENTS, PROXY, free_ports

N_USERS = 100
CHECKOUT = Path(__file__).resolve().parents[4]
PORTAL_PYTHON = ENVIRONMENTS / "hub/bin/python"
MOSS_DIR = CHECKOUT / "tests/output/moss"
# JupyterHub is of the release that the portal has.
MOSS_PACKAGES = ("jupyterhub==6.1.1", "jupyterhub_moss==10.1.0", "batchspawner==1.3.0")
START_TIMEOUT_S = 60

PORTAL = """
import functools
from pathlib import Path
from portal.hub.apply import apply_settings
from portal.hub.settings.loader import load_settings
from spawner.session import cluster
cluster.Slurm = functools.partial(cluster.Slurm, path="{folder}/bin:/usr/bin:/bin")
apply_settings(c, load_settings(Path("{folder}/portal.toml")))
c.SlurmGPUSpawner.launcher_argv = ["{folder}/bin/launcher"]
c.SlurmGPUSpawner.sudo_argv = ["{folder}/bin/as-user"]
"""

# JupyterHub's own pages and spawner, in an environment without the portal.
STOCK = """
c.JupyterHub.spawner_class = "simple"
"""

MOSS = """
import jupyterhub_moss
jupyterhub_moss.set_config(c)
c.MOSlurmSpawner.exec_prefix = ""
c.MOSlurmSpawner.partitions = {{
    "gpu": {{
        "architecture": "x86_64",
        "description": "GPUs",
        "simple": True,
        "jupyter_environments": {{
            "default": {{"description": "Default", "path": "/opt/env/bin", "add_to_path": True}}
        }},
    }}
}}
"""

_COMMON = """
import pwd
from types import SimpleNamespace
# The users have no accounts on this host.
pwd.getpwnam = lambda name: SimpleNamespace(
    pw_name=name, pw_uid=20001, pw_gid=20001, pw_dir="/tmp", pw_shell="/bin/sh"
)
c.JupyterHub.cleanup_servers = True
c.JupyterHub.cleanup_proxy = True
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.allow_all = True
c.DummyAuthenticator.admin_users = set()
c.JupyterHub.bind_url = "http://127.0.0.1:{public_port}"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{hub_port}"
c.JupyterHub.hub_connect_url = "http://127.0.0.1:{hub_port}"
c.JupyterHub.proxy_class = "configurable-http-proxy"
c.ConfigurableHTTPProxy.should_start = True
c.ConfigurableHTTPProxy.command = ["{proxy}"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie_secret"
"""

_SETTINGS = """
[hub]
address = "127.0.0.1"
state_dir = "{folder}"
[login]
servers = ["ldap://127.0.0.1:389"]
ca_certificates = "/etc/ssl/certs/ca-certificates.crt"
user_dn_template = ["uid={{username}},dc=example"]
allow_all = true
[partitions.gpu]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningHub:
    """One hub with its users logged in."""

    url: str
    pid: int
    cookies: tuple[str, ...]
    slurm: SlurmStandIn
    log_path: Path


@contextmanager
def running_hub(config: str, *, python: Path, n_nodes: int) -> Iterator[RunningHub]:
    """Run a hub in a folder of its own and log its users in."""
    with tempfile.TemporaryDirectory(prefix="pages-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        slurm = SlurmStandIn(folder, n_nodes=n_nodes, n_users=N_USERS)
        hub_port, public_port, proxy_port = free_ports(3)
        values = {"folder": folder, "hub_port": hub_port, "public_port": public_port}
        values |= {"proxy_port": proxy_port, "proxy": PROXY}
        (folder / "portal.toml").write_text(_SETTINGS.format(**values))
        path = folder / "config.py"
        path.write_text(("c = get_config()\n" + config + _COMMON).format(**values))
        url = f"http://127.0.0.1:{hub_port}/hub"
        log_path = folder / "hub.log"
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                [str(python), "-m", "jupyterhub", "-f", str(path)],
                cwd=folder,
                env=os.environ
                | {"PYTHONPATH": PYTHONPATH, "PATH": f"{folder}/bin:{os.environ['PATH']}"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            eventually(
                lambda: requests.get(f"{url}/health", timeout=5).ok, timeout_s=START_TIMEOUT_S
            )
            yield RunningHub(
                url=url,
                pid=process.pid,
                cookies=tuple(log_in(url, f"user{number}") for number in range(N_USERS)),
                slurm=slurm,
                log_path=log_path,
            )
        except AssertionError as error:
            raise RuntimeError(log_path.read_text()[-3000:]) from error
        finally:
            process.terminate()
            process.wait(30)


def moss_python() -> Path:
    """Return the Python of an environment with jupyterhub_moss, made if it is missing."""
    python = MOSS_DIR / "bin/python"
    if not (MOSS_DIR / "complete").exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", str(MOSS_DIR)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *MOSS_PACKAGES], check=True, timeout=600)
        (MOSS_DIR / "complete").touch()
    return python


def log_in(url: str, name: str) -> str:
    """Return the cookies of a user who has logged in."""
    session = requests.Session()
    session.get(f"{url}/login", timeout=30)
    xsrf = next(cookie.value for cookie in session.cookies if cookie.name == "_xsrf")
    form = {"username": name, "password": "any", "_xsrf": xsrf}
    session.post(f"{url}/login", data=form, timeout=30, allow_redirects=False).raise_for_status()
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in session.cookies)
