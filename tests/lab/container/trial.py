"""The container as its user has it: started as the guide says, reached by the published port."""

import json
import re
from typing import Any

import requests
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from tests.lab.container.podman import Podman, documented
from tests.support.eventually import eventually
from tests.support.kernels import run_over
from tests.support.portal_client import PortalClient

NAME = "dsportal"
PORT = "8000/tcp"
ADDRESS = "127.0.0.1:8000:8000"
VOLUME = "dsportal-home:/home"
UP_TIMEOUT_S = 600
SESSION_TIMEOUT_S = 180


class Trial:
    """The container and one of its users."""

    def __init__(self, podman: Podman, options: list[str], volume: str = VOLUME) -> None:
        self.podman = podman
        self.options = options
        # Any free port, so that nothing of this machine is in the way.
        self.replaced = {ADDRESS: "127.0.0.1::8000", VOLUME: volume}
        self.client = PortalClient("ada", password="")
        self.token = ""

    def run(self) -> None:
        """Do what the guide says, and log in."""
        command, *words = documented("podman run", self.replaced)
        self.podman.run(command, *self.options, *words)
        self.log_in()

    def log_in(self) -> None:
        """Wait until the portal answers, and log in with the password that the container told."""
        address = f"http://{self.podman.run('port', NAME, PORT).strip()}"
        try:
            eventually(lambda: _is_up(address), timeout_s=UP_TIMEOUT_S, every_s=1)
        except AssertionError as error:
            raise AssertionError(self.logs()[-6000:]) from error
        password = re.findall(r"the password of both is (\S+)", self.logs())[-1]
        self.client = PortalClient("ada", password=password, address=address)
        self.client.login()
        self.token = self.client.token()

    def logs(self) -> str:
        """Return what the container has printed."""
        return self.podman.run("logs", NAME)

    def inside(self, *words: str) -> str:
        """Run a program in the container."""
        return self.podman.run("exec", NAME, *words)

    def start_session(self, n_gpus: int) -> None:
        """Start a session and wait until its server answers."""
        path = f"/users/{self.client.user}"
        answer = self.client.rest("POST", f"{path}/server", self.token, json={"gpus": n_gpus})
        assert answer.status_code in {201, 202}, answer.text

        def is_ready() -> bool:
            user = self.client.rest("GET", path, self.token).json()
            return bool(user["servers"].get("", {}).get("ready"))

        eventually(is_ready, timeout_s=SESSION_TIMEOUT_S)

    def ask(self, method: str, path: str, **kwargs: Any) -> Any:
        """Call the REST interface of the session's server."""
        url = f"{self.client.address}/user/{self.client.user}/api/{path}"
        answer = requests.request(method, url, headers=self._headers, timeout=90, **kwargs)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    async def run_cell(self, kernel_name: str, code: str) -> str:
        """Start a kernel, run one cell in it and return what it showed."""
        kernel = self.ask("POST", "kernels", data=json.dumps({"name": kernel_name}))["id"]
        address = self.client.address.replace("http", "ws", 1)
        channels = f"{address}/user/{self.client.user}/api/kernels/{kernel}/channels"
        socket = await websocket_connect(HTTPRequest(channels, headers=self._headers))
        shown = await run_over(socket, code)
        socket.close()
        self.ask("DELETE", f"kernels/{kernel}")
        return shown

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"token {self.token}"}


def _is_up(address: str) -> bool:
    return requests.get(f"{address}/hub/health", timeout=5).ok
