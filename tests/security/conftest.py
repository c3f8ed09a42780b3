"""The victim with a running session, and the attacker, who is any other user of the portal."""

import http.client
import io
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, sessions_of

# She is an administrator of the portal, which gives nobody any right over her own session.
VICTIM = "grace"
ATTACKER = "ada"
ANSWER_TIMEOUT_S = 30
# The hub refuses whoever asks as fast as these tests do; they have time.
TURN_TIMEOUT_S = 120
WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def ask(method: str, path: str, **kwargs: Any) -> requests.Response:
    """Ask the portal through its proxy, again where the hub says that there were too many requests.

    Args:
        kwargs: Further arguments of `requests.request`.

    Returns:
        The answer; redirects are not followed.
    """

    def answer() -> requests.Response | None:
        got = requests.request(
            method,
            f"{ADDRESS}{path}",
            timeout=ANSWER_TIMEOUT_S,
            allow_redirects=False,
            **kwargs,
        )
        return None if got.status_code == 429 else got

    got = eventually(lambda: _found(answer()), timeout_s=TURN_TIMEOUT_S, every_s=0.3)
    return got[0]


def ask_upgrade(path: str, headers: dict[str, str], cookies: Any = ()) -> requests.Response:
    """Ask for a WebSocket; return the head of the answer, for its rest may never come."""
    proxy = urlsplit(ADDRESS)
    connection = http.client.HTTPConnection(str(proxy.hostname), proxy.port, timeout=30)
    sent = "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)
    try:
        connection.request("GET", path, headers={**headers, **WEBSOCKET, "Cookie": sent})
        got = connection.getresponse()
        answer = requests.Response()
        answer.status_code = got.status
        answer.headers.update(got.getheaders())
        answer.raw = io.BytesIO()
        return answer
    finally:
        connection.close()


def _found(answer: requests.Response | None) -> list[requests.Response]:
    # An answer of 404 counts as false itself.
    return [] if answer is None else [answer]


@dataclass
class LoggedIn:
    """A user's browser: cookies of the hub and of her session, and the tokens against forgery."""

    name: str
    client: PortalClient
    token: str
    session_xsrf: str = ""
    cookies: Any = field(default=None)

    def ask(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        """Ask as this user's pages do."""
        in_session = path.startswith("/user/")
        xsrf = self.session_xsrf if in_session else self.client.xsrf
        headers = {"X-XSRFToken": xsrf, **kwargs.pop("headers", {})}
        return ask(method, path, cookies=self.client.http.cookies, headers=headers, **kwargs)


@dataclass
class Session:
    """The victim's running session."""

    job_id: int
    node: str
    pid: int
    address: str
    port: int


@pytest.fixture(scope="session")
def attacker() -> LoggedIn:
    """Return another user, logged in, without rights and without a session."""
    client = PortalClient(ATTACKER)
    client.login().raise_for_status()
    return LoggedIn(ATTACKER, client, client.token())


@pytest.fixture(scope="module")
def victim(session: Session) -> LoggedIn:
    """Return the victim's browser, with a page of her session open."""
    client = PortalClient(VICTIM)
    client.login().raise_for_status()
    page = client.http.get(f"{ADDRESS}/user/{VICTIM}/lab", timeout=ANSWER_TIMEOUT_S)
    page.raise_for_status()
    xsrf = client.xsrf_of(f"/user/{VICTIM}/")
    return LoggedIn(VICTIM, client, client.token(), session_xsrf=xsrf)


# Each user has one session at a time: what other files start must not find this one.
@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """Yield the victim's session, and end it afterwards."""
    client = PortalClient(VICTIM)
    client.login().raise_for_status()
    token = client.token()
    client.stop(token)
    client.start(token, gpus=1)
    (job,) = sessions_of(VICTIM)
    pid = server_pid(job.job_id)
    address, port = listening(pid)
    yield Session(job.job_id, job.node, pid, address, port)
    client.stop(token)


def server_pid(job_id: int, user: str = VICTIM) -> int:
    """Return the process of a session's notebook server."""
    pids = subprocess.run(
        ["pgrep", "-u", user, "-f", "dsportal-singleuser"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    for pid in pids:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if f"SLURM_JOB_ID={job_id}".encode() in file.read().split(b"\0"):
                return int(pid)
    raise LookupError(f"no server of job {job_id} among {pids}")


def listening(pid: int) -> tuple[str, int]:
    """Return where a process listens, in the network of its own node."""
    text = subprocess.run(
        ["nsenter", f"--target={pid}", "--net", "ss", "-Htlnp"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    (line,) = (line for line in text.splitlines() if f"pid={pid}," in line)
    address, _, port = line.split()[3].rpartition(":")
    return address, int(port)


def detail(answer: requests.Response) -> str:
    """Return an answer in one line, for the message of a failed test."""
    text = {"status": answer.status_code, "to": answer.headers.get("Location", "")}
    return f"{json.dumps(text)} {answer.text[:200]!r}"
