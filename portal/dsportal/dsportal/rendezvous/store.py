"""The rendezvous of a run: a small HTTP store in which ranks find each other's addresses.

Guarantees: the store answers only clients that know the secret of the run, 32 random bytes in the
path of each request. On one node it listens on 127.0.0.1 and answers only sockets that belong to
the user of the run, according to the kernel; everybody else gets 403. It holds values as bytes and
never unpickles. It ends with the run.

Not guaranteed: if a run has several nodes, the secret crosses the cluster's network in clear text.
Once the ranks have found each other, Gloo's own connections between them are neither encrypted nor
authenticated.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dsportal.start.connection_user import user_of

MAX_VALUE_BYTES = 1 << 20
# Ends a thread whose client sends nothing; a waiting rank asks again and again instead.
_REQUEST_TIMEOUT_S = 10
_REFUSAL = b"HTTP/1.0 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Store:
    """A store that listens from `with` to the end of its block.

    Args:
        host: IPv4 address to listen on. On 127.0.0.1 the owner of each client is checked.
        uid: The only user who is answered on 127.0.0.1; None for the user of this process.
    """

    def __init__(self, host: str = "127.0.0.1", uid: int | None = None) -> None:
        # URL-safe, since Horovod puts it into the path of its requests as it is.
        self.secret = secrets.token_urlsafe(32)
        self._server = _Server(host, self.secret, os.getuid() if uid is None else uid)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )

    @property
    def address(self) -> tuple[str, int]:
        """IPv4 address and port that the store listens on."""
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    @property
    def horovod_address(self) -> tuple[str, int]:
        """Values for HOROVOD_GLOO_RENDEZVOUS_ADDR and _PORT.

        Horovod joins the two by a colon and appends /scope/key. With our port and the secret in the
        first and 0 as the second, the secret becomes part of the path.

        Source:
            Horovod 0.28.1, http_store.h, constructor of HTTPStore.
        """
        host, port = self.address
        return f"{host}:{port}/{self.secret}", 0

    def received(self, scope: str) -> dict[str, tuple[float, bytes]]:
        """Return what ranks have put into a scope.

        Returns:
            By key the value and when it came, in seconds of the monotonic clock.
        """
        return self._server.received(scope)

    def __enter__(self) -> Store:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    # A client that hangs in a request must not keep the run from ending.
    daemon_threads = True
    # All ranks may connect at the same moment.
    request_queue_size = 128

    def __init__(self, host: str, secret: str, uid: int) -> None:
        # Port 0: the kernel picks a free one, so that runs on one node never collide.
        super().__init__((host, 0), _Handler)
        self.secret = secret
        self._uid = uid
        # The kernel knows the owner of the other end only if it is on this node.
        self._checks_owner = host.startswith("127.")
        self._lock = threading.Lock()
        # By scope and key, with the time at which each was put.
        self._values: dict[str, dict[str, tuple[float, bytes]]] = {}
        self._done: dict[str, set[str]] = {}

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse other users of the node before a line of theirs is read."""
        if not self._checks_owner:
            return True
        if user_of(client_address, request.getsockname()) == self._uid:
            return True
        with suppress(OSError):
            request.sendall(_REFUSAL)
            request.shutdown(socket.SHUT_WR)
        return False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: Slurm reports a rank that is gone."""

    def put(self, scope: str, key: str, value: bytes) -> bytes:
        with self._lock:
            self._values.setdefault(scope, {})[key] = (time.monotonic(), value)
        return b""

    def received(self, scope: str) -> dict[str, tuple[float, bytes]]:
        with self._lock:
            return dict(self._values.get(scope, {}))

    def value(self, scope: str, key: str) -> bytes | None:
        with self._lock:
            return self._values.get(scope, {}).get(key, (0.0, None))[1]

    def add(self, scope: str, key: str, amount: bytes) -> bytes:
        with self._lock:
            values = self._values.setdefault(scope, {})
            # Under the lock, so that no rank's addition is lost.
            total = str(int(values.get(key, (0.0, b"0"))[1]) + int(amount)).encode()
            values[key] = (time.monotonic(), total)
            return total

    def finish(self, scope: str, key: str) -> None:
        """Record that a rank has read all that it needs; the last one empties the scope.

        A rank deletes its key while others may still have to read it, and a later start of Horovod
        in the same run must not find the addresses of the first.

        Args:
            key: Number of the rank within the scope.

        Source:
            Horovod 0.28.1, gloo_context.cc, Rendezvous; Gloo's rendezvous/context.cc: under its
            number a rank puts its address, and under "rank_" and its number the name of its host,
            which it never deletes.
        """
        with self._lock:
            done = self._done.setdefault(scope, set())
            done.add(key)
            # Every rank that put an address has read all others.
            if done >= {key for key in self._values.get(scope, {}) if key.isdecimal()}:
                self._values.pop(scope, None)
                del self._done[scope]


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _REQUEST_TIMEOUT_S

    def do_GET(self) -> None:
        """Answer with a value, or with 404 until a rank has put it."""
        if (place := self._place()) is not None:
            value = self.server.value(*place)
            self._answer(HTTPStatus.NOT_FOUND if value is None else HTTPStatus.OK, value or b"")

    def do_PUT(self) -> None:
        """Store a value."""
        self._take(self.server.put)

    def do_POST(self) -> None:
        """Add to a number and answer with the sum."""
        self._take(self.server.add)

    def do_DELETE(self) -> None:
        """Record that a rank is done with a scope."""
        if (place := self._place()) is not None:
            self.server.finish(*place)
            self._answer(HTTPStatus.OK)

    def _take(self, take: Callable[[str, str, bytes], bytes]) -> None:
        place = self._place()
        body = self._body() if place is not None else None
        if place is None or body is None:
            return
        try:
            answer = take(*place, body)
        except ValueError:
            self._answer(HTTPStatus.BAD_REQUEST)
        else:
            self._answer(HTTPStatus.OK, answer)

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        # int() would take signs, blanks and digits of other scripts too.
        if not length.isascii() or not length.isdigit() or int(length) > MAX_VALUE_BYTES:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return None
        return self.rfile.read(int(length))

    def _place(self) -> tuple[str, str] | None:
        parts = self.path.removeprefix("/").split("/", 2)
        # Horovod appends ":0", the port that it was told, to the secret.
        given_secret = parts[0].partition(":")[0]
        # In constant time, so that the time of a refusal does not reveal the secret.
        if not hmac.compare_digest(given_secret.encode(), self.server.secret.encode()):
            self._answer(HTTPStatus.FORBIDDEN)
            return None
        if len(parts) != 3 or not all(parts):  # secret, scope, key
            self._answer(HTTPStatus.BAD_REQUEST)
            return None
        return parts[1], parts[2]

    def _answer(self, status: HTTPStatus, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the paths of requests hold the secret."""
