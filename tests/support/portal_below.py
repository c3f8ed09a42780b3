"""A portal of a test's own at /jupyter/ on the real cluster; its proxy and hub can be killed."""

import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import requests

from deploy.common.accounts import ACCOUNT
from deploy.one_machine import directory
from deploy.one_machine.layout import PORTAL_TOML, PREFIX_DIR
from tests.support.eventually import eventually
from tests.support.portal_client import sessions_of
from tests.support.private_hub import free_ports

BASE_URL = "/jupyter/"
N_WORKERS = 2
STORAGE = "scratch-of-a-test"
HUB_BIN = PREFIX_DIR / "environments/hub/bin"
START_TIMEOUT_MS = 90_000


class PortalBelow:
    """Proxy and hub as installed, with the settings of this machine but for ports and path."""

    def __init__(self, tables: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="portal-below-", dir="/tmp"))
        shutil.chown(self.folder, ACCOUNT, ACCOUNT)
        api_port, public_port, proxy_port = free_ports(3)
        self.root = f"http://127.0.0.1:{public_port}"
        self.url = f"{self.root}{BASE_URL.rstrip('/')}"
        text = PORTAL_TOML.read_text()
        for key, value in (
            ("api_port", str(api_port)),
            ("public_port", f'{public_port}\nbase_url = "{BASE_URL}"'),
            ("proxy_api_url", f'"http://127.0.0.1:{proxy_port}"\nproxy_workers = {N_WORKERS}'),
            ("state_dir", f'"{self.folder}"'),
        ):
            text, n_set = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.M)
            assert n_set == 1, key
        self.settings = self.folder / "portal.toml"
        self.settings.write_text(
            f"{text}\n[storage.{STORAGE}]\npath = '/srv'\nlabel = 'Fast disks'\n{tables}"
        )
        self.environment = {"JUPYTERHUB_CRYPT_KEY": secrets.token_hex(32)}
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start both; return when users reach the hub."""
        self.start_proxy()
        eventually(lambda: requests.get(self.root, timeout=5).status_code == 503, timeout_s=30)
        self.start_hub()

    def start_hub(self) -> None:
        """Start the hub; return when users reach it."""
        (config,) = HUB_BIN.parent.glob("lib/*/site-packages/portal/hub/jupyterhub_config.py")
        self.hub = self._run(
            [HUB_BIN / "python", "-m", "jupyterhub", "--config", config],
            PORTAL_TOML=str(self.settings),
            LDAP_READER_PASSWORD=directory.reader_password(),
        )
        eventually(lambda: requests.get(f"{self.url}/hub/health", timeout=5).ok, timeout_s=90)

    def start_proxy(self) -> None:
        """Start the proxy alone."""
        self.proxy = self._run([HUB_BIN / "dsportal", "run", "proxy", "--settings", self.settings])

    def kill_proxy(self) -> None:
        """End the proxy as a crash would."""
        self._kill(self.proxy)

    def kill_hub(self) -> None:
        """End the hub as a crash would."""
        self._kill(self.hub)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait(30)
        self.processes.remove(process)

    def _run(self, argv: list[str | Path], **environment: str) -> subprocess.Popen[bytes]:
        own: Mapping[str, str] = {
            "PATH": f"{HUB_BIN}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
        }
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                argv,
                cwd=self.folder,
                env={**own, **self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=ACCOUNT,
                group=ACCOUNT,
                extra_groups=[],
                umask=0o077,
            )
        self.processes.append(process)
        return process

    def close(self) -> None:
        """End both, the hub first, and take their folder away."""
        # A proxy that was started again would be the first.
        for process in sorted(self.processes, key=lambda one: one is self.proxy):
            process.terminate()
            process.wait(30)
        shutil.rmtree(self.folder)


@contextmanager
def running_portal_below(user: str, tables: str = "") -> Iterator[PortalBelow]:
    """Yield a portal that runs; afterwards no session of the user is left, nor its storage."""
    portal = PortalBelow(tables)
    try:
        portal.start()
        yield portal
    finally:
        portal.close()
        for job in sessions_of(user):
            subprocess.run(["scancel", str(job.job_id)], check=True, timeout=30)
        eventually(lambda: not sessions_of(user), timeout_s=60)
        Path("/home", user, STORAGE).unlink(missing_ok=True)
