"""A request hidden in another one's body, as the proxy lets it through."""

import asyncio

import pytest
from tornado.httputil import HTTPServerRequest
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from spawner.http_server import ClosingServer


class Recorder(RequestHandler):
    """Notes which paths were asked for."""

    SUPPORTED_METHODS = (*RequestHandler.SUPPORTED_METHODS, "PURGE")
    paths: tuple[str, ...] = ()

    def prepare(self) -> None:
        Recorder.paths += (self.request.path,)
        self.finish("answered")


def hidden(method: str) -> bytes:
    """What the proxy makes of a chunked request: its body comes after `Content-Length: 0`."""
    head = f"{method} /first HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
    return f"{head}GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n".encode()


async def paths_after(sent: bytes) -> tuple[str, ...]:
    Recorder.paths = ()
    server = ClosingServer(Application([(".*", Recorder)]))
    sock, port = bind_unused_port()
    server.add_socket(sock)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    server.stop()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert isinstance(Recorder.paths, tuple)
    return Recorder.paths


@pytest.mark.parametrize("method", ["DELETE", "OPTIONS", "PURGE"])
def test_what_follows_a_request_whose_body_the_proxy_cuts_loose_is_not_read(method: str) -> None:
    assert asyncio.run(paths_after(hidden(method))) == ("/first",)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH"])
def test_other_connections_stay_open(method: str) -> None:
    assert asyncio.run(paths_after(hidden(method))) == ("/first", "/hidden")


def test_a_browser_is_told_that_the_connection_ends() -> None:
    async def answer() -> bytes:
        server = ClosingServer(lambda request: reply(request))
        sock, port = bind_unused_port()
        server.add_socket(sock)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(hidden("DELETE"))
        text = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        server.stop()
        return text

    def reply(request: HTTPServerRequest) -> None:
        from tornado.httputil import HTTPHeaders, ResponseStartLine

        connection = request.connection
        assert connection is not None
        line = ResponseStartLine("HTTP/1.1", 204, "No Content")
        connection.write_headers(line, HTTPHeaders())
        connection.finish()

    assert b"Connection: close" in asyncio.run(answer())
