"""Headers that tell strangers which program answers, and its version: left out for browsers."""

from __future__ import annotations

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform

PROGRAM = "Server"
VERSION = "X-JupyterHub-Version"


class PlainHeaders(OutputTransform):
    """Takes the names of programs out of every answer, errors and files included.

    Hub and sessions compare their versions by a header when they meet. They do so directly; what
    comes through the proxy has X-Forwarded-For.

    Args:
        request: What is answered.

    Source:
        Tornado 6.6 applies transforms to the answers of all handlers of an application.
    """

    def __init__(self, request: HTTPServerRequest) -> None:
        super().__init__(request)
        self._is_proxied = "X-Forwarded-For" in request.headers

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Drop the headers; tornado calls this before it sends the first bytes.

        Args:
            status_code: Status of the answer.
            headers: Its headers, which are changed.
            chunk: Beginning of its body.
            finishing: Whether that is all.

        Returns:
            Status, headers and chunk.
        """
        headers.pop(PROGRAM, None)
        if self._is_proxied:
            headers.pop(VERSION, None)
        return status_code, headers, chunk
