"""The hub in place of the real one, which answers what a session asks while it starts."""

import http.server
import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


class _Answers(http.server.BaseHTTPRequestHandler):
    server: StandInHub

    def do_GET(self) -> None:
        if self.path.endswith("/hub/api/user"):
            self._answer(_IDENTITY)
        elif "dsportal/session" in self.path:
            self._answer({"left_s": LEFT_S, "extension": {"step_s": 0, "n_left": 0}})
        else:
            self._answer({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path.endswith("dsportal/port"):
            self.server.ports.put(json.loads(body)["port"])
        self._answer({})

    def do_DELETE(self) -> None:
        self._answer({})

    def _answer(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@contextmanager
def running_hub() -> Iterator[StandInHub]:
    """Yield a hub that answers."""
    hub = StandInHub()
    thread = threading.Thread(target=hub.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        thread.join()
        hub.server_close()
