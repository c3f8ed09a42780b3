"""The HTTP server of hub and sessions, which accepts no request that is hidden in another one."""

from collections.abc import Callable
from typing import Any

from tornado.http1connection import HTTP1Connection
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine

# For these methods the proxy passes on the client's framing of the body.
WELL_FRAMED = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH"})


class ClosingServer(HTTPServer):
    """Closes the connection after a request whose body the proxy may have separated from its head.

    Source:
        http-proxy-3 1.23 (as http-proxy before it) takes `Transfer-Encoding` from a chunked DELETE
        or OPTIONS, sets `Content-Length: 0` and sends the body all the same. On a connection that
        stays open the body is the next request, and configurable-http-proxy 5 shares its
        connections between all users: the head of the next user's request, cookies included,
        becomes the end of what a stranger wrote.
    """

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Take the constructor's `args` and `kwargs`: Tornado calls this in place of __init__."""
        self._ended: set[object] = set()
        super().initialize(*args, **kwargs)

    def start_request(self, server_conn: object, request_conn: Any) -> HTTPMessageDelegate:
        """Return the application's delegate, wrapped in a check of the method.

        `server_conn` is the connection, `request_conn` one request on it.
        """
        if server_conn in self._ended:
            return _Refused(request_conn)
        delegate = super().start_request(server_conn, request_conn)
        return _Closing(delegate, request_conn, lambda: self._ended.add(server_conn))

    def on_close(self, server_conn: object) -> None:
        """Forget the connection `server_conn`."""
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
        # Everything but the headers goes straight to the application.
        self.data_received = delegate.data_received  # type: ignore[method-assign]
        self.finish = delegate.finish  # type: ignore[method-assign]
        self.on_connection_close = delegate.on_connection_close  # type: ignore[method-assign]

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Any:
        if isinstance(start_line, RequestStartLine) and start_line.method not in WELL_FRAMED:
            self._end()
            # Makes the response say "Connection: close"; Tornado has no public way to it.
            self._connection._disconnect_on_finish = True
        return self._headers_received(start_line, headers)


class _Refused(HTTPMessageDelegate):
    """Drops a request that Tornado has read and would serve although the connection closes."""

    def __init__(self, connection: HTTP1Connection) -> None:
        self._connection = connection

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        # What was sent behind the first body: nobody waits for an answer to it.
        self._connection.close()


def register() -> None:
    """Make Tornado use this class for every HTTPServer."""
    HTTPServer.configure(ClosingServer)
