"""Versions of the portal installed beside each other, and a hub of the one in use."""

import subprocess
import sys
from pathlib import Path

import requests

from tests.support.eventually import eventually
from tests.support.private_hub import ACCOUNT, ADDRESS, ENVIRONMENTS, TRIVIAL_SERVER, PrivateHub

SETTINGS = """\
[hub]
address = "{address}"
api_port = {hub_port}
public_port = {public_port}
proxy_api_url = "http://127.0.0.1:{proxy_port}"
state_dir = "{folder}"
{database}

[login]
servers = ["ldap://127.0.0.1"]
ca_certificates = "/etc/ssl/certs/ca-certificates.crt"
user_dn_template = ["uid={{username}},dc=portal,dc=example"]
allow_all = true

[environments]
server = "{shared}/current/environments/server"

[partitions.jupyter]
"""

CONFIG = """\
from pathlib import Path

from portal.hub.apply import apply_settings
from portal.hub.settings.loader import load_settings

c = get_config()
apply_settings(c, load_settings(Path({settings!r})))
# Sessions of these tests speak plain HTTP, and a release from before internal TLS knows no setting
# for that.
c.JupyterHub.hub_bind_url = c.JupyterHub.hub_connect_url = {url!r}
c.SlurmGPUSpawner.hub_connect_url = {url!r}
c.SlurmGPUSpawner.certificates_dir = ""
c.ConfigurableHTTPProxy.auth_token = {token!r}
c.JupyterHub.services = [{{"name": "tester", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [
    {{"name": "tester", "services": ["tester"], "scopes": ["admin:users", "admin:servers"]}}
]
"""


class InstalledHub(PrivateHub):
    """A hub that runs from the version in use, as deploy/site/install lays versions out.

    Each version has its own package and its own program for sessions; the libraries are those of
    this machine's environment of the hub, which take minutes to install.
    """

    def __init__(self, db_url: str = "") -> None:
        super().__init__()
        self.python_path = ""
        self.prefix = self.shared / "here"
        self.nodes = self.shared / "nodes"
        self.settings = self.shared / "portal.toml"
        self.settings.write_text(
            SETTINGS.format(
                address=ADDRESS,
                hub_port=self.hub_port,
                public_port=self.public_port,
                proxy_port=self.proxy_port,
                folder=self.folder,
                shared=self.nodes,
                database=f'db_url = "{db_url}"' if db_url else "",
            )
        )
        url = f"http://{ADDRESS}:{self.hub_port}"
        config = CONFIG.format(settings=str(self.settings), token=self.token, url=url)
        (self.folder / "config.py").write_text(config)

    def install(self, version: str, package: Path) -> None:
        """Put a version beside the others; the first one is in use.

        Args:
            package: Folder with `portal` and `spawner`.
        """
        environment = self.prefix / version / "environments/hub"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        (library,) = (environment / "lib").glob("python3.*/site-packages")
        (libraries,) = (ENVIRONMENTS / "hub/lib").glob("python3.*/site-packages")
        # The first path wins.
        (library / "version.pth").write_text(f"{package}\n{libraries}\n")
        alembic = environment / "bin/alembic"
        alembic.write_text(f"#!{environment}/bin/python\nfrom alembic.config import main\nmain()\n")
        alembic.chmod(0o755)
        server = self.nodes / version / "environments/server/bin/dsportal-singleuser"
        server.parent.mkdir(parents=True)
        text = TRIVIAL_SERVER.format(package=str(package), wait_s=0, exit_code=None)
        server.write_text(f"#!/usr/bin/python3 -IB\n{text}")
        server.chmod(0o755)
        for folder in (self.prefix, self.nodes):
            if not (folder / "current").is_symlink():
                (folder / "current").symlink_to(version)

    @property
    def version(self) -> str:
        """The version in use."""
        (version,) = {str((one / "current").readlink()) for one in (self.prefix, self.nodes)}
        return version

    def start_installed(self) -> None:
        """Start the hub of the version in use."""
        python = self.prefix / "current/environments/hub/bin/python"
        self.process = self.run(
            self.log_path, [str(python), "-m", "jupyterhub", "-f", str(self.folder / "config.py")]
        )
        eventually(lambda: requests.get(f"{self.address}/health", timeout=5).ok, timeout_s=180)

    def stop(self) -> None:
        """Stop the hub as systemd does."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)

    def dsportal(self, version: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command of a version, as root."""
        python = self.prefix / version / "environments/hub/bin/python"
        return subprocess.run(
            [python, "-m", "portal.cli", *words, "--settings", self.settings],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd="/",
        )

    def python(self, code: str) -> str:
        """Run Python of the version in use as the hub's account; return what it prints."""
        return self.ask_python(self.prefix / self.version / "environments/hub/bin/python", code)

    def ask_python(self, python: Path, code: str) -> str:
        """Run an environment's Python as the hub's account; return what it prints."""
        return subprocess.run(
            [python, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            user=ACCOUNT,
            group=ACCOUNT,
            extra_groups=[],
            cwd=self.folder,
            env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"},
        ).stdout
