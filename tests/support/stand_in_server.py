"""HTTP servers that stand for somebody else's: silent, on a thread, and ended at once."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, TypeVar

Server = TypeVar("Server", bound=HTTPServer)


class Handler(BaseHTTPRequestHandler):
    """Speaks JSON and prints nothing."""

    def read_json(self) -> Any:
        """Return what the request says."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, status: int, body: object) -> None:
        """Answer the request."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Let a server answer while the block runs."""
    with server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
