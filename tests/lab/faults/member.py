"""One of the users: what the hub answers, what the session answers, what the kernel keeps."""

import asyncio
import secrets
from dataclasses import dataclass
from typing import Any

import requests
from tornado.httpclient import HTTPError, HTTPRequest
from tornado.websocket import websocket_connect

from tests.support.kernels import run_over
from tests.support.portal_client import ADDRESS, PortalClient
from tests.support.websockets import close_websocket

ANSWER_TIMEOUT_S = 60
TOKEN_LIFETIME_S = 24 * 3600
CELL_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a user was told about a start.

    Args:
        status: HTTP status; 0 if nothing answered.
    """

    status: int
    text: str

    @property
    def is_accepted(self) -> bool:
        """Whether the start is under way or done."""
        return self.status in {201, 202}


class Member:
    """A user who is logged in and has a token."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.answer: Answer | None = None
        self._client = PortalClient(name)
        page = self._client.login()
        page.raise_for_status()
        made = self._client.http.post(
            f"{ADDRESS}/hub/api/users/{name}/tokens",
            json={"expires_in": TOKEN_LIFETIME_S},
            headers={"X-XSRFToken": self._client.xsrf},
            timeout=ANSWER_TIMEOUT_S,
        )
        made.raise_for_status()
        self._token = str(made.json()["token"])
        self._kernel = ""
        self._kept = ""

    def ask(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        """Call the hub's REST interface."""
        kwargs.setdefault("timeout", ANSWER_TIMEOUT_S)
        return self._client.rest(method, path, self._token, **kwargs)

    def start(self, partition: str) -> None:
        """Ask for a session of one GPU and keep the answer."""
        try:
            said = self.ask(
                "POST", f"/users/{self.name}/server", json={"gpus": 1, "partition": partition}
            )
        except requests.RequestException as error:
            self.answer = Answer(status=0, text=type(error).__name__)
        else:
            self.answer = Answer(status=said.status_code, text=said.text[:300])

    def stop(self) -> None:
        """Stop the session; one that is not there is no error."""
        self.ask("DELETE", f"/users/{self.name}/server")

    def server(self) -> dict[str, Any]:
        """Return what the hub says of the session; empty if there is none."""
        answer = self.ask("GET", f"/users/{self.name}")
        answer.raise_for_status()
        servers: dict[str, dict[str, Any]] = answer.json()["servers"]
        return servers.get("", {})

    def is_ready(self) -> bool:
        """Whether the hub calls the session ready."""
        return bool(self.server().get("ready"))

    def home(self) -> str:
        """Return the portal's first page as the user sees it."""
        return self._client.http.get(f"{ADDRESS}/hub/home", timeout=ANSWER_TIMEOUT_S).text

    def keep_variable(self) -> None:
        """Start a kernel that keeps a new value."""
        self._kernel = self.start_kernel()
        self._kept = secrets.token_hex(8)
        self.run_cell(f"kept = {self._kept!r}")

    def has_variable(self) -> bool:
        """Whether the kernel still knows the value."""
        try:
            return bool(self._kept) and self.run_cell("print(kept)").strip() == self._kept
        except (OSError, TimeoutError, HTTPError):
            return False

    def start_kernel(self, name: str = "") -> str:
        """Start a kernel and return its id; without a name it is the default one."""
        answer = requests.post(
            f"{ADDRESS}/user/{self.name}/api/kernels",
            json={"name": name} if name else {},
            headers=self._headers,
            timeout=ANSWER_TIMEOUT_S,
        )
        answer.raise_for_status()
        return str(answer.json()["id"])

    def run_cell(self, code: str, *, kernel: str = "", timeout_s: float = CELL_TIMEOUT_S) -> str:
        """Run a cell and return what it shows.

        Args:
            kernel: Id of a kernel; empty for the one that keeps the variable.
        """
        return asyncio.run(self._run_cell(code, kernel or self._kernel, timeout_s))

    async def _run_cell(self, code: str, kernel: str, timeout_s: float) -> str:
        url = f"ws{ADDRESS[4:]}/user/{self.name}/api/kernels/{kernel}/channels"
        async with asyncio.timeout(timeout_s):
            socket = await websocket_connect(HTTPRequest(url, headers=self._headers))
            shown = await run_over(socket, code)
            await close_websocket(socket)
        return shown

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"token {self._token}"}
