"""Base handler that forwards requests to a program of the user, without the session's secrets."""

import html
from collections.abc import AsyncIterator, Iterable

import httpcore
from jupyter_server.base.handlers import JupyterHandler
from tornado.httputil import HTTPServerRequest
from tornado.iostream import IOStream, StreamClosedError
from tornado.web import RequestHandler
from tornado.websocket import WebSocketHandler

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# A referer is a URL of the portal, which may hold a token or the key of a port.
_SECRETS = {"authorization", "cookie", "referer", "x-xsrftoken"}
_NOT_PASSED_ON = HOP_BY_HOP | _SECRETS | {"content-length", "expect", "host"}
# Jupyter also takes its token, and the one against forged requests, from the query.
_SECRET_ARGUMENTS = ("token=", "_xsrf=")

_PAGE = """<!doctype html><meta charset="utf-8"><title>{tab}</title>
<body style="font: 16px sans-serif; max-width: 40em; margin: 15vh auto; padding: 0 1em">
<h1 style="font-size: 1.3em">{title}</h1><p>{text}</p>
"""


class ForwardingHandler(JupyterHandler):
    """Forwards requests, and streams the responses back; cookies and tokens stay here.

    Source:
        Hop-by-hop headers: RFC 9110, 7.6.1.
    """

    page_title = ""
    # A program's cookie would be stored for the portal's own host.
    not_passed_back = HOP_BY_HOP | {"date", "server", "set-cookie"}
    # The connection of a websocket, which is no longer Tornado's.
    detached: IOStream | None = None

    async def pass_back(self, response: httpcore.Response) -> None:
        """Stream a program's response to the browser; its content has not been read yet."""
        self.set_status(response.status)
        # Tornado's default; the program's own headers follow.
        self.clear_header("Content-Type")
        for name, value in response.headers:
            if name.lower().decode("latin-1") not in self.not_passed_back:
                # Latin-1 changes no byte, whatever the program sends.
                self.add_header(name.decode("latin-1"), value.decode("latin-1"))
        content = self.response_chunks(response)
        try:
            await self.flush()
            async for chunk in content:
                self.write(chunk)
                # Chunk by chunk: a program may stream its response.
                await self.flush()
            await self.finish()
        except StreamClosedError:
            self.log.debug("The browser went away before the end of %s", self.request.path)

    def response_chunks(self, response: httpcore.Response) -> AsyncIterator[bytes]:
        """Return the chunks of a response that are sent; subclasses may change them."""
        return response.aiter_stream()

    def harmless_uri(self) -> str:
        """Return the request's path and query, in its own spelling, without tokens."""
        path, _, query = str(self.request.uri).partition("?")
        # Not parse_qsl, which would change the spelling of what the program gets.
        parts = query.split("&") if query else []
        kept = [part for part in parts if not part.startswith(_SECRET_ARGUMENTS)]
        return f"{path}{'?' if kept else ''}{'&'.join(kept)}"

    def harmless_headers(self, host: str) -> list[tuple[bytes, bytes]]:
        """Return the request's headers for httpcore, without those meant for this server alone.

        Args:
            host: The Host header for the program.
        """
        headers: Iterable[tuple[str, str]] = self.request.headers.get_all()
        kept = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in headers
            if name.lower() not in _NOT_PASSED_ON
        ]
        if self.request.body:
            kept.append((b"Content-Length", str(len(self.request.body)).encode("ascii")))
        return [*kept, (b"Host", host.encode("ascii"))]

    def say(self, status: int, title: str, text: str) -> None:
        """Answer with a page of a heading and one or two sentences."""
        self.set_status(status)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        words = {"tab": self.page_title, "title": title, "text": text}
        self.finish(_PAGE.format(**{name: html.escape(word) for name, word in words.items()}))


def cut_off(handler: RequestHandler, reason: str) -> None:
    """End a websocket, which gets the reason, or whatever is still sent or received."""
    if isinstance(handler, WebSocketHandler) and handler.ws_connection is not None:
        handler.close(reason=reason)
    elif isinstance(handler, ForwardingHandler) and handler.detached is not None:
        handler.detached.close()
    elif not handler._finished and (stream := getattr(handler.request.connection, "stream", None)):
        stream.close()


def forwarded_addresses(request: HTTPServerRequest) -> str:
    """Return all addresses that a request passed, as the proxies wrote them down.

    Only the last ones are beyond doubt: a client can send the header with anything in it.
    """
    passed = str(request.headers.get("X-Forwarded-For", "")) or str(request.remote_ip)
    return "".join(c for c in passed if c.isascii() and c.isprintable())[:200] or "unknown"
