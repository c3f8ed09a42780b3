"""The HTTP server of hub and sessions, which takes no request that is hidden in another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tornado.http1connection import HTTP1Connection
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine

# The proxy passes on where the body of these ends as the client said it.
WELL_FRAMED = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH"})


class ClosingServer(HTTPServer):
    """Closes the connection after a request whose body the proxy may have cut loose from its head.

    Source:
        http-proxy-3 1.23 (as http-proxy before it) takes `Transfer-Encoding` from a chunked DELETE
        or OPTIONS, sets `Content-Length: 0` and sends the body all the same. On a connection that
        stays open the body is the next request, and configurable-http-proxy 5 shares its
        connections between all users: the head of the next user's request, cookies included,
        becomes the end of what a stranger wrote.
    """

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Set the server up as Tornado does.

        Args:
            args: As for `HTTPServer`.
            kwargs: As for `HTTPServer`.
        """
        self._ended: set[object] = set()
        super().initialize(*args, **kwargs)

    def start_request(self, server_conn: object, request_conn: Any) -> HTTPMessageDelegate:
        """Return what takes the parts of a request.

        Args:
            server_conn: The connection.
            request_conn: This request on it.

        Returns:
            The application's own, behind a look at the method.
        """
        if server_conn in self._ended:
            return _Refused(request_conn)
        delegate = super().start_request(server_conn, request_conn)
        return _Closing(delegate, request_conn, lambda: self._ended.add(server_conn))

    def on_close(self, server_conn: object) -> None:
        """Forget a connection.

        Args:
            server_conn: The connection.
        """
        self._ended.discard(server_conn)
        super().on_close(server_conn)


class _Closing(HTTPMessageDelegate):
    def __init__(
        self,
        delegate: HTTPMessageDelegate,
        connection: HTTP1Connection,
        end: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._headers_received = delegate.headers_received
        self._end = end
        # The rest goes to the application without a detour.
        self.data_received = delegate.data_received
        self.finish = delegate.finish
        self.on_connection_close = delegate.on_connection_close

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Any:
        if isinstance(start_line, RequestStartLine) and start_line.method not in WELL_FRAMED:
            self._end()
            # Has the answer say so; Tornado has no public way to it.
            self._connection._disconnect_on_finish = True
        return self._headers_received(start_line, headers)


class _Refused(HTTPMessageDelegate):
    """Takes what Tornado has read already and would serve although the connection is closed."""

    def __init__(self, connection: HTTP1Connection) -> None:
        self._connection = connection

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        self._connection.close()


def register() -> None:
    """Have Tornado make its servers of this class."""
    HTTPServer.configure(ClosingServer)
