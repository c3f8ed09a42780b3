"""The hub's HTTP server: refuses early what would starve other users.

Nodes reach the hub without the proxy and without a front end, so limits there are not enough.
"""

import html
import json
import logging
import sys
from collections import Counter
from collections.abc import Collection
from http.client import responses
from ipaddress import ip_address
from typing import Any, cast

from tornado.http1connection import HTTP1Connection, HTTP1ServerConnection
from tornado.httpserver import HTTPServer
from tornado.httputil import (
    HTTPHeaders,
    HTTPMessageDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import IOStream

from portal.hub.auth.client_address import note_ends
from portal.hub.network.gate import Admission, Gate, GuardSettings, Refusal
from spawner.http_server import ClosingServer

# Forms and REST send some kB. The front end's example has the same limit for /hub/.
MOST_BODY_BYTES = 1024 * 1024
# A client that still sends may lose the answer if the connection is closed at once.
MOST_DROPPED_BYTES = 16 * 1024 * 1024
BODY_TIMEOUT_S = 60.0
# Whoever is not logged in sends a login form of some hundred bytes, in one piece with its head.
STRANGER_BODY_TIMEOUT_S = 10.0
# Of one address: half bodies must not use up what its other users need for the login page.
MOST_HALF_BODIES = 20
GUARDED = "portal_guarded"

TOO_LONG = (
    f"The request has a body of more than {MOST_BODY_BYTES // 1024} KiB, and the hub takes no"
    " more. Upload files in a running session."
)
_PAGE = "<!DOCTYPE html><title>{title}</title><h1>{title}</h1><p>{text}</p>\n"


class GuardedServer(ClosingServer):
    """An HTTP server that refuses early, for applications with the setting `GUARDED`.

    Source:
        Tornado 6.6 by default keeps bodies of up to 100 MiB in memory before a handler sees them,
        answers longer ones with 400, and waits for the rest of a body for ever.
    """

    def initialize(self, request_callback: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Set the server up as Tornado does, with a gate if the application asks for one.

        `request_callback` is the application, `kwargs` are settings of `HTTPServer`.
        """
        settings = getattr(request_callback, "settings", {})
        self._guarding: GuardSettings | None = settings.get(GUARDED)
        if self._guarding is not None:
            kwargs.setdefault("body_timeout", BODY_TIMEOUT_S)
            self._gate = Gate(settings, self._guarding)
            self._log: logging.Logger = settings["log"]
        self._guards: dict[object, _Guard] = {}
        self._half_bodies = _HalfBodies()
        self._peers: dict[IOStream, str] = {}
        self._n_of_peer: Counter[str] = Counter()
        super().initialize(request_callback, **kwargs)

    def start_request(self, server_conn: object, request_conn: Any) -> HTTPMessageDelegate:
        """Return the guarded delegate for `request_conn`, a request on `server_conn`."""
        delegate = super().start_request(server_conn, request_conn)
        if self._guarding is None:
            return delegate
        guard = _Guard(delegate, request_conn, self._gate, self._half_bodies, self._log)
        self._guards[server_conn] = guard
        return guard

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Accept a connection from `address`, unless that host already holds too many."""
        peer = _bounded_peer(stream, address, self.trusted_downstream or ())
        if self._guarding is not None and peer:
            # Closed without an answer, which would cost as much as a request.
            if self._n_of_peer[peer] >= self._guarding.traffic.address_at_once:
                stream.close()
                return
            self._n_of_peer[peer] += 1
            self._peers[stream] = peer
        super().handle_stream(stream, address)

    def on_close(self, server_conn: object) -> None:
        """Forget `server_conn`; a request still open on it leaves the gate."""
        guard = self._guards.pop(server_conn, None)
        if guard is not None:
            guard.leave()
        peer = self._peers.pop(cast(HTTP1ServerConnection, server_conn).stream, "")
        if peer:
            self._n_of_peer[peer] -= 1
            # A Counter keeps its zeros: a flood of addresses would fill memory.
            if not self._n_of_peer[peer]:
                del self._n_of_peer[peer]
        super().on_close(server_conn)


def _bounded_peer(stream: IOStream, address: Any, trusted: Collection[str]) -> str:
    """Return the host of a connection; "" if it may be the proxy's, which serves all users."""
    if not isinstance(address, tuple):
        return ""
    peer, own = str(address[0]), str(stream.socket.getsockname()[0])
    # Through the proxy one host sends the requests of all users, so it has no limit.
    is_proxy = peer == own or ip_address(peer.partition("%")[0]).is_loopback or peer in trusted
    return "" if is_proxy else peer


class _HalfBodies:
    """Requests without a login whose bodies are still on their way, by address, oldest first."""

    def __init__(self) -> None:
        self._of_address: dict[str, dict[HTTP1Connection, None]] = {}

    def add(self, address: str, connection: HTTP1Connection) -> None:
        """Wait for a body; of too many the one that has taken longest is hung up on."""
        waiting = self._of_address.setdefault(address, {})
        waiting[connection] = None
        if len(waiting) > MOST_HALF_BODIES:
            next(iter(waiting)).close()

    def remove(self, address: str, connection: HTTP1Connection) -> None:
        """Forget a body that has come, or whose connection is closed."""
        waiting = self._of_address.get(address, {})
        waiting.pop(connection, None)
        if not waiting:
            self._of_address.pop(address, None)


class _Guard(HTTPMessageDelegate):
    def __init__(
        self,
        delegate: HTTPMessageDelegate,
        connection: HTTP1Connection,
        gate: Gate,
        half_bodies: _HalfBodies,
        log: logging.Logger,
    ) -> None:
        self._delegate = delegate
        self._connection = connection
        self._gate = gate
        self._half_bodies = half_bodies
        self._log = log
        self._start_line = RequestStartLine("", "", "")
        self._admission: Admission | None = None
        self._n_bytes = 0
        self._is_refused = False

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Any:
        # The audit log asks for them after the answer, when the connection may be closed.
        note_ends(self._connection)
        self._start_line = cast(RequestStartLine, start_line)
        entered = self._gate.enter(self._start_line, headers, self._connection)
        length = headers.get("Content-Length", "")
        # Without this header Tornado does not invite a body that nobody wants.
        if isinstance(entered, Refusal):
            headers.pop("Expect", None)
            self._refuse(429, entered.text, retry_after_s=entered.retry_after_s)
            return None
        self._admission = entered
        # Tornado reads it next, and refuses anything but one number.
        if length.isdecimal() and int(length) > MOST_BODY_BYTES:
            headers.pop("Expect", None)
            self._refuse(413, TOO_LONG)
            return None
        if entered is not None:
            self._leave_at_the_end()
            if entered.stranger and (length not in {"", "0"} or "Transfer-Encoding" in headers):
                self._connection.set_body_timeout(STRANGER_BODY_TIMEOUT_S)
                self._half_bodies.add(entered.stranger, self._connection)
        return self._delegate.headers_received(start_line, headers)

    def leave(self) -> None:
        """Report that the request is over."""
        if self._admission is not None:
            self._admission.request.leave()
            self._half_bodies.remove(self._admission.stranger, self._connection)

    def _leave_at_the_end(self) -> None:
        # The connection may stay open for another user's requests, so its end does not end this
        # one.
        finish = self._connection.finish

        def leave_and_finish() -> None:
            self.leave()
            finish()

        self._connection.finish = leave_and_finish  # type: ignore[method-assign]

    def data_received(self, chunk: bytes) -> Any:
        self._n_bytes += len(chunk)
        if self._is_refused:
            if self._n_bytes > MOST_DROPPED_BYTES:
                self._connection.close()
            return None
        # A chunked body has no length that could be refused with the headers.
        if self._n_bytes > MOST_BODY_BYTES:
            self._delegate.on_connection_close()
            self._refuse(413, TOO_LONG)
            return None
        return self._delegate.data_received(chunk)

    def finish(self) -> None:
        if self._admission is not None:
            self._half_bodies.remove(self._admission.stranger, self._connection)
        if self._is_refused:
            self.leave()
            self._connection.finish()
        else:
            self._delegate.finish()

    def on_connection_close(self) -> None:
        self.leave()
        if not self._is_refused:
            self._delegate.on_connection_close()

    def _refuse(self, status: int, text: str, *, retry_after_s: int = 0) -> None:
        self._is_refused = True
        # What still comes is dropped here; Tornado must not answer a second time.
        self._connection.set_max_body_size(sys.maxsize)
        method, path, _ = self._start_line
        reason = responses[status]
        if self._gate.is_rest(path):
            kind, body = "application/json", json.dumps({"status": status, "message": text})
        else:
            kind, body = "text/html", _PAGE.format(title=reason, text=html.escape(text))
        content = body.encode()
        headers = HTTPHeaders({
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(content)),
            "X-Content-Type-Options": "nosniff",
        })  # fmt: skip
        if retry_after_s:
            headers["Retry-After"] = str(retry_after_s)
        self._connection.write_headers(
            ResponseStartLine("HTTP/1.1", status, reason),
            headers,
            content if method != "HEAD" else b"",
        )
        # A 429 is logged by the gate, once a minute.
        if status == 413:
            self._log.warning("413 %s %.200r: refused unread", method, path.partition("?")[0])


def register() -> None:
    """Make Tornado create servers of this class; without the setting they behave as before."""
    HTTPServer.configure(GuardedServer)
