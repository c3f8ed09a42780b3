"""Homes and shared storage of the running portal on a real NFS server, and a user of them."""

from __future__ import annotations

import asyncio
import pwd
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.lab.nfs.file_server import FileServer, missing, running_server
from tests.support import kernels
from tests.support.eventually import eventually
from tests.support.mounts import node_places
from tests.support.portal_client import ADDRESS, PortalClient, sessions_of

USER = "ada"
HOME = Path(f"/home/{USER}")
SHARED = Path("/srv/isilon")
START_TIMEOUT_S = 240
# Each call takes some milliseconds in user mode, and a session makes thousands.
ANSWER_TIMEOUT_S = 120
CELL_TIMEOUT_S = 300


@dataclass
class Session:
    """A user's session, through the proxy."""

    client: PortalClient
    token: str
    host: str = ADDRESS

    @property
    def http(self) -> requests.Session:
        """The way to the session's own interfaces."""
        http = requests.Session()
        http.headers["Authorization"] = f"token {self.token}"
        return http

    def run_cell(self, code: str) -> str:
        """Run a cell in a kernel of its own and return what it showed."""
        return asyncio.run(self._run_cell(code))

    async def _run_cell(self, code: str) -> str:
        async with asyncio.timeout(CELL_TIMEOUT_S):
            return await kernels.run_cell(self, "tensorflow", code)

    def start(self, **options: Any) -> requests.Response:
        """Ask for a session; the answer may be a refusal."""
        return self._ask_for({"gpus": 1} | options)

    def rescue(self) -> requests.Response:
        """Ask for a session that makes room in the home."""
        return self._ask_for({"rescue": 1})

    def _ask_for(self, options: dict[str, Any]) -> requests.Response:
        path = f"/users/{USER}/server"
        return self.client.rest("POST", path, self.token, json=options, timeout=ANSWER_TIMEOUT_S)

    def wait_until_ready(self) -> None:
        """Wait until the session answers."""
        eventually(lambda: self.ask("GET", "api/status").ok, START_TIMEOUT_S, every_s=1)

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        """Ask the session's notebook server."""
        more.setdefault("timeout", ANSWER_TIMEOUT_S)
        return self.http.request(method, f"{self.host}/user/{USER}/{path}", **more)

    def save(self, name: str, text: str, **more: Any) -> requests.Response:
        """Save a file as JupyterLab does."""
        model = {"type": "file", "format": "text", "content": text}
        return self.ask("PUT", f"api/contents/{name}", json=model, **more)

    def page(self) -> str:
        """Return the user's home page."""
        page = self.client.http.get(f"{ADDRESS}/hub/home", timeout=ANSWER_TIMEOUT_S)
        page.raise_for_status()
        return page.text

    def stop(self) -> requests.Response:
        """Stop the session, if there is one."""
        path = f"/users/{USER}/server"
        return self.client.rest("DELETE", path, self.token, timeout=ANSWER_TIMEOUT_S)

    def end(self) -> None:
        """Stop the session and wait until Slurm knows no job of it."""
        eventually(lambda: self.stop().status_code in {204, 404}, START_TIMEOUT_S, every_s=1)
        eventually(lambda: not sessions_of(USER), START_TIMEOUT_S, every_s=1)


@dataclass
class Bystander:
    """Somebody else who uses the hub all the time."""

    client: PortalClient
    waits_s: list[float] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Bystander:
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()
        return self

    def _ask(self) -> None:
        while not self._over.wait(0.2):
            before = time.monotonic()
            self.client.http.get(f"{ADDRESS}/hub/home", timeout=60).raise_for_status()
            self.waits_s.append(time.monotonic() - before)

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture(scope="session")
def nfs() -> Iterator[FileServer]:
    """Yield the server, with the user's home and the shared storage on it."""
    if missing():
        pytest.skip(missing())
    account = pwd.getpwnam(USER)
    with (
        tempfile.TemporaryDirectory(prefix="nfs-", dir="/var/tmp") as folder,
        running_server(Path(folder), 1 + len(node_places())) as server,
    ):
        server.make_folder(USER, user_id=account.pw_uid, group_id=account.pw_gid, mode=0o700)
        server.make_folder("shared", user_id=0, group_id=0, mode=0o755)
        server.make_folder("shared/projects", user_id=0, group_id=account.pw_gid, mode=0o3770)
        server.show(USER, HOME)
        server.show("shared", SHARED)
        yield server


@pytest.fixture(scope="session")
def logged_in() -> Session:
    """Return the user, logged in."""
    client = PortalClient(USER)
    client.login()
    return Session(client, client.token())


@pytest.fixture
def user(nfs: FileServer, logged_in: Session) -> Iterator[Session]:
    """Yield the user, without a session before and after."""
    logged_in.end()
    # A server that starts lets nobody write at first, and one that hung takes a moment, too.
    touch = ["runuser", "-u", USER, "--", "touch", str(HOME / ".writable")]
    subprocess.run(touch, check=True, timeout=120)
    yield logged_in
    logged_in.end()


@pytest.fixture
def running(user: Session) -> Session:
    """Return the user with a running session."""
    assert user.start().status_code in {201, 202}
    user.wait_until_ready()
    return user


@pytest.fixture
def bystander() -> Bystander:
    """Return somebody else, logged in."""
    client = PortalClient("grace")
    client.login()
    return Bystander(client)
