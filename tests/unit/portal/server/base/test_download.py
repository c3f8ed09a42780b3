"""A long answer, sent by a real web server over a real connection."""

import asyncio
import logging
from collections.abc import Generator

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from portal.server.base.download import Download, send

PIECE = b"x" * 300_000
END = b"0\r\n\r\n"


def answer_of(pieces: Generator[bytes, None, None]) -> tuple[bytes, int]:
    """Send the pieces; return all that a browser gets, and how many of them were noted."""
    noted: list[None] = []

    class Sender(RequestHandler):
        log = logging.getLogger("sender")

        async def get(self) -> None:
            found = Download(name="photos", pieces=pieces)
            await send(self, found, note=lambda: noted.append(None))

    async def ask() -> bytes:
        server = HTTPServer(Application([("/", Sender)]))
        sock, port = bind_unused_port()
        server.add_socket(sock)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        text = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        server.stop()
        return text

    return asyncio.run(ask()), len(noted)


def test_all_pieces_arrive_and_small_ones_go_together() -> None:
    pieces = (piece for piece in [PIECE, *[b"y"] * 1000])

    answer, n_noted = answer_of(pieces)

    assert PIECE in answer
    assert b"y" * 1000 in answer
    assert answer.endswith(END)
    assert n_noted == 2


def test_an_answer_that_fails_in_its_middle_does_not_look_complete(
    caplog: pytest.LogCaptureFixture,
) -> None:
    is_closed: list[bool] = []

    def fail() -> Generator[bytes, None, None]:
        try:
            yield PIECE
            raise OSError("Stale file handle")
        finally:
            is_closed.append(True)

    answer, n_noted = answer_of(fail())

    assert PIECE in answer
    assert not answer.endswith(END)
    assert "The download of photos failed" in caplog.text
    assert (n_noted, is_closed) == (1, [True])
