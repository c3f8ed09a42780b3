"""Removes headers that tell strangers which program answers, and its version."""

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform

PROGRAM = "Server"
VERSION = "X-JupyterHub-Version"


class PlainHeaders(OutputTransform):
    """Removes program names from every response, errors and files included.

    Hub and sessions compare their versions by a header when they talk to each other. They do so
    directly; what comes through the proxy has X-Forwarded-For.

    Source:
        Tornado 6.6 applies transforms to the responses of all handlers of an application.
    """

    def __init__(self, request: HTTPServerRequest) -> None:
        super().__init__(request)
        # A request that forges this header loses no more than the version.
        self._is_proxied = "X-Forwarded-For" in request.headers

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Drop the headers, in place; Tornado calls this before it sends the first bytes."""
        headers.pop(PROGRAM, None)
        if self._is_proxied:
            headers.pop(VERSION, None)
        return status_code, headers, chunk
