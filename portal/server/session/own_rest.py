"""REST interfaces of hub and session for the user's own programs, on the socket of their own.

The session's token stays here, so that programs, as those over ssh, need none.
"""

from collections.abc import Awaitable

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.web import Application, RequestHandler

from portal.server.base.authorization import telling_errors
from portal.server.base.hub_api import HubApi

# Programs leave out the portal's own prefix: the socket is of one portal.
_ROOT = "/"
HUB_ROUTE = rf"{_ROOT}hub/api/(.+)"
OWN_ROUTE = rf"{_ROOT}user/.+"


class HubHandler(RequestHandler):
    """What the hub tells the session of its user."""

    def initialize(self, hub: HubApi) -> None:
        """Store the argument of the route."""
        self.hub = hub

    @telling_errors
    async def get(self, path: str) -> None:
        """Answer as the hub does; of a stream with what it says at once."""
        query = self.request.query
        status, text = await self.hub.relay(f"{path}?{query}" if query else path)
        self.set_status(status)
        self.finish(text)


class OwnServer(HTTPServerConnectionDelegate):
    """The notebook server itself.

    Args:
        application: Its own.
        base_url: Of the portal, which programs leave out.
        token: Of the session.
    """

    def __init__(self, application: Application, base_url: str, token: str) -> None:
        self._application = application
        self._base = base_url.rstrip("/")
        self._token = token

    def start_request(
        self, server_conn: object, request_conn: HTTPConnection
    ) -> HTTPMessageDelegate:
        """Pass a request on as one of the user."""
        to = self._application.start_request(server_conn, request_conn)
        return _Request(to, self._base, self._token)


class _Request(HTTPMessageDelegate):
    def __init__(self, to: HTTPMessageDelegate, base: str, token: str) -> None:
        self._to, self._base, self._token = to, base, token

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        if isinstance(start_line, RequestStartLine):
            headers["Authorization"] = f"token {self._token}"
            start_line = start_line._replace(path=f"{self._base}{start_line.path}")
        return self._to.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return self._to.data_received(chunk)

    def finish(self) -> None:
        self._to.finish()

    def on_connection_close(self) -> None:
        self._to.on_connection_close()
