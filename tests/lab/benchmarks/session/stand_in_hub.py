"""The hub in place of the real one, which answers what a session asks while it starts."""

import http.server
import queue
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.stand_in_server import Handler, serving

USER = "ada"
PREFIX = f"/user/{USER}/"
TOKEN = "of-this-benchmark"
LEFT_S = 8 * 3600
_IDENTITY = {
    "kind": "user",
    "name": USER,
    "admin": False,
    "groups": [],
    "scopes": [f"access:servers!server={USER}/"],
}


class StandInHub(http.server.ThreadingHTTPServer):
    """Knows one user, and takes the ports that sessions report."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.ports: queue.Queue[int] = queue.Queue()

    @property
    def api(self) -> str:
        """Address of its REST interface."""
        return f"http://127.0.0.1:{self.server_port}/hub/api"


class _Answers(Handler):
    server: StandInHub

    def do_GET(self) -> None:
        if self.path.endswith("/hub/api/user"):
            self.answer(200, _IDENTITY)
        elif "dsportal/session" in self.path:
            self.answer(200, {"left_s": LEFT_S, "extension": {"step_s": 0, "n_left": 0}})
        else:
            self.answer(200, {})

    def do_POST(self) -> None:
        if self.path.endswith("dsportal/port"):
            self.server.ports.put(self.read_json()["port"])
        self.answer(200, {})

    def do_DELETE(self) -> None:
        self.answer(200, {})


@contextmanager
def running_hub() -> Iterator[StandInHub]:
    """Yield a hub that answers."""
    with serving(StandInHub()) as hub:
        yield hub
