"""A client of the running portal for tests: logs in like a browser, then speaks REST."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.support.eventually import eventually

ADDRESS = "http://127.0.0.1:8000"
PASSWORD_FILE = Path("/var/lib/data-scientist-portal/demo-password")
ANSWER_TIMEOUT_S = 30
START_TIMEOUT_S = 120
# Of --format, %m has no memory of the job: newer Slurms write the partition's default for each GPU
# there. Fields without a width are cut off at 20 characters.
QUEUE_FIELDS = (
    *("JobID:50|", "UserName:100|", "State:50|", "NodeList:200|", "NumCPUs:50|"),
    *("tres-alloc:500|", "TimeLimit:50|", "tres-per-node:200|", "Name:200"),
)


def demo_password() -> str:
    """Return the password of the demo users."""
    return os.environ.get("PORTAL_DEMO_PASSWORD") or PASSWORD_FILE.read_text().strip()


@dataclass(frozen=True)
class QueuedJob:
    """One line of squeue."""

    job_id: int
    user: str
    state: str
    node: str
    n_cpus: int
    memory: str
    walltime: str
    gres: str
    name: str


def sessions_of(user: str) -> list[QueuedJob]:
    """Return the jobs of a user's sessions that squeue shows (waiting, running or ending)."""
    text = subprocess.run(
        ["squeue", "-h", "-u", user, "-O", ",".join(QUEUE_FIELDS)],
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    ).stdout
    lines = [[field.strip() for field in line.split("|", 8)] for line in text.splitlines()]
    jobs = [
        QueuedJob(int(f[0]), *f[1:4], int(f[4]), _memory_of(f[5]), *f[6:])
        for f in lines
        if len(f) == len(QUEUE_FIELDS)
    ]
    return [job for job in jobs if job.name.startswith("dsportal-")]


def _memory_of(resources: str) -> str:
    """Return such as "48G" of "cpu=8,mem=48G,node=1"; empty if there is none."""
    sizes = dict(part.split("=", 1) for part in resources.split(",") if "=" in part)
    return sizes.get("mem", "")


class PortalClient:
    """One browser session of one user."""

    def __init__(self, user: str, password: str | None = None, address: str = ADDRESS) -> None:
        self.user = user
        self.address = address
        self.password = demo_password() if password is None else password
        self.http = requests.Session()

    def login(self) -> requests.Response:
        """Send the login form; the answer is the page that a browser would show."""
        page = self.http.get(f"{self.address}/hub/login", timeout=ANSWER_TIMEOUT_S)
        page.raise_for_status()
        return self.http.post(
            f"{self.address}/hub/login",
            params={"next": ""},
            data={"username": self.user, "password": self.password, "_xsrf": self.xsrf},
            timeout=ANSWER_TIMEOUT_S,
        )

    @property
    def xsrf(self) -> str:
        """The hub's cross-site token of this session."""
        return self.xsrf_of("/hub/")

    def xsrf_of(self, path: str) -> str:
        """Return the token against forged requests of what is below a path, such as a session."""
        return next(
            str(cookie.value)
            for cookie in self.http.cookies
            if cookie.name == "_xsrf" and cookie.path.endswith(path)
        )

    def token(self) -> str:
        """Ask the hub for an API token of this user."""
        answer = self.http.post(
            f"{self.address}/hub/api/users/{self.user}/tokens",
            json={"expires_in": 3600},
            headers={"X-XSRFToken": self.xsrf},
            timeout=ANSWER_TIMEOUT_S,
        )
        answer.raise_for_status()
        return str(answer.json()["token"])

    def rest(self, method: str, path: str, token: str, **kwargs: Any) -> requests.Response:
        """Call the hub's REST interface with a token, without cookies."""
        return requests.request(
            method,
            f"{self.address}/hub/api{path}",
            headers={"Authorization": f"token {token}"},
            timeout=kwargs.pop("timeout", ANSWER_TIMEOUT_S),
            **kwargs,
        )

    def server(self, token: str) -> dict[str, Any]:
        """Return what REST says of the user's session; empty where there is none."""
        answer: dict[str, Any] = self.rest("GET", f"/users/{self.user}", token).json()
        servers: dict[str, dict[str, Any]] = answer.get("servers", {})
        return servers.get("", {})

    def start(self, token: str, **options: object) -> None:
        """Start a session with these options of the form, and wait until it is ready."""
        path = f"/users/{self.user}/server"
        self.rest("POST", path, token, json=options, timeout=START_TIMEOUT_S).raise_for_status()
        eventually(lambda: self.server(token).get("ready"), timeout_s=START_TIMEOUT_S)

    def stop(self, token: str) -> None:
        """Stop the user's session, if there is one, and wait until its job is gone."""
        self.rest("DELETE", f"/users/{self.user}/server", token, timeout=60)
        eventually(lambda: not self.server(token) and not sessions_of(self.user), timeout_s=60)


class UserSession:
    """A user who is logged in, and their session, asked as tests.support.kernels asks a server."""

    def __init__(self, user: str) -> None:
        self.client = PortalClient(user)
        self.client.login()
        self.token = self.client.token()
        self.host = self.client.address
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"token {self.token}"
