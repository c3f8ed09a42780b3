"""The hub's own HTTP server: it refuses what would cost the hub its memory while it is still read.

Nodes reach the hub without the proxy and without a front end, so no limit of those is enough.
"""

from __future__ import annotations

import html
import json
import logging
import sys
from typing import Any, cast

from tornado.http1connection import HTTP1Connection
from tornado.httpserver import HTTPServer
from tornado.httputil import (
    HTTPHeaders,
    HTTPMessageDelegate,
    RequestStartLine,
    ResponseStartLine,
    responses,
)

from spawner.http_server import ClosingServer

# Forms and REST send some kB. The front end's example has the same limit for /hub/.
MOST_BODY_BYTES = 1024 * 1024
# A client that still sends may lose the answer if the connection is closed at once.
MOST_DROPPED_BYTES = 16 * 1024 * 1024
BODY_TIMEOUT_S = 60.0
GUARDED = "portal_guarded"

TOO_LONG = (
    f"The request has a body of more than {MOST_BODY_BYTES // 1024} KiB, and the hub takes no"
    " more. Upload files in a running session."
)
_PAGE = "<!DOCTYPE html><title>{title}</title><h1>{title}</h1><p>{text}</p>\n"


class GuardedServer(ClosingServer):
    """An HTTP server that refuses early, for applications that ask for it by a setting `GUARDED`.

    Source:
        Tornado 6.6 by default keeps bodies of up to 100 MiB in memory before a handler sees them,
        answers longer ones with 400, and waits for the rest of a body for ever.
    """

    def initialize(self, request_callback: Any, **kwargs: Any) -> None:
        """Set the server up as Tornado does.

        Args:
            request_callback: The application.
            kwargs: Settings of `HTTPServer`.
        """
        self._settings = getattr(request_callback, "settings", {})
        if GUARDED in self._settings:
            kwargs.setdefault("body_timeout", BODY_TIMEOUT_S)
        super().initialize(request_callback, **kwargs)

    def start_request(self, server_conn: object, request_conn: Any) -> HTTPMessageDelegate:
        """Return what takes the parts of a request.

        Args:
            server_conn: The connection.
            request_conn: This request on it.

        Returns:
            The application's own, behind the guard.
        """
        delegate = super().start_request(server_conn, request_conn)
        if GUARDED not in self._settings:
            return delegate
        return _Guard(delegate, request_conn, self._settings["log"])


class _Guard(HTTPMessageDelegate):
    def __init__(
        self, delegate: HTTPMessageDelegate, connection: HTTP1Connection, log: logging.Logger
    ) -> None:
        self._delegate = delegate
        self._connection = connection
        self._log = log
        self._start_line = RequestStartLine("", "", "")
        self._n_bytes = 0
        self._is_refused = False

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Any:
        self._start_line = cast(RequestStartLine, start_line)
        length = headers.get("Content-Length", "")
        # Anything else than one number is refused by Tornado, which reads it next.
        if length.isdecimal() and int(length) > MOST_BODY_BYTES:
            # Whoever waits for leave to send the body is not given it.
            headers.pop("Expect", None)
            self._refuse(413, TOO_LONG)
            return None
        return self._delegate.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Any:
        self._n_bytes += len(chunk)
        if self._is_refused:
            if self._n_bytes > MOST_DROPPED_BYTES:
                self._connection.close()
            return None
        if self._n_bytes > MOST_BODY_BYTES:
            self._delegate.on_connection_close()
            self._refuse(413, TOO_LONG)
            return None
        return self._delegate.data_received(chunk)

    def finish(self) -> None:
        if self._is_refused:
            self._connection.finish()
        else:
            self._delegate.finish()

    def on_connection_close(self) -> None:
        if not self._is_refused:
            self._delegate.on_connection_close()

    def _refuse(self, status: int, text: str) -> None:
        self._is_refused = True
        # What still comes is dropped here; Tornado must not answer a second time.
        self._connection.set_max_body_size(sys.maxsize)
        method, path, _ = self._start_line
        reason = responses[status]
        if path.startswith("/hub/api/"):
            kind, body = "application/json", json.dumps({"status": status, "message": text})
        else:
            kind, body = "text/html", _PAGE.format(title=reason, text=html.escape(text))
        content = body.encode()
        headers = HTTPHeaders({
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(content)),
            "X-Content-Type-Options": "nosniff",
        })  # fmt: skip
        self._connection.write_headers(
            ResponseStartLine("HTTP/1.1", status, reason),
            headers,
            content if method != "HEAD" else b"",
        )
        self._log.warning("%d %s %.200r: refused unread", status, method, path.partition("?")[0])


def register() -> None:
    """Have Tornado make its servers of this class; those without the setting are as before."""
    HTTPServer.configure(GuardedServer)
