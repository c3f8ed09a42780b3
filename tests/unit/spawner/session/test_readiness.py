"""When a session's server counts as ready."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from portal.hub.network.authority import ensure_certificates
from spawner.certificates import make_identity
from spawner.session import readiness
from spawner.session.readiness import wait_for_answer


class DeafServer:
    """Accepts connections, and answers only from the second on."""

    def __init__(self, *, n_deaf: int) -> None:
        self.n_deaf = n_deaf
        self.n_connections = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        self._writers.append(writer)
        if self.n_connections <= self.n_deaf:
            await reader.read()
        else:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            await writer.drain()
        writer.close()

    @contextlib.asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0, ssl=tls)
        try:
            scheme = "https" if tls else "http"
            yield f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            # A handshake that failed is closed in a later turn of the loop.
            for _ in range(5):
                await asyncio.sleep(0)
            for writer in self._writers:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()


def starting(*, timeout_s: float) -> SimpleNamespace:
    return SimpleNamespace(server=None, certificate="", running_start_timeout_s=timeout_s)


async def test_a_connection_that_is_never_answered_is_not_the_end_of_a_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness, "MOST_WAIT_S", 0.1)
    deaf = DeafServer(n_deaf=1)
    async with deaf.listening() as url:
        await wait_for_answer(starting(timeout_s=60), url)

    assert deaf.n_connections >= 2


async def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    deaf = DeafServer(n_deaf=1000)
    async with deaf.listening() as url:
        with pytest.raises(TimeoutError):
            await wait_for_answer(starting(timeout_s=0.2), url)


@pytest.mark.parametrize("is_impostor", [False, True])
async def test_only_the_server_that_reported_its_certificate_is_the_sessions(
    tmp_path: Path, is_impostor: bool
) -> None:
    folder = tmp_path / "certificates"
    ensure_certificates(folder, "127.0.0.1")
    key, certificate = make_identity("Session of job 17", "127.0.0.1")
    spawner = starting(timeout_s=0.5 if is_impostor else 30)
    spawner.certificate, spawner.certificates_dir = certificate, str(folder)
    if is_impostor:
        # It has the address, the port and the name.
        key, certificate = make_identity("Session of job 17", "127.0.0.1")
    identity = tmp_path / "identity.pem"
    identity.write_text(key + certificate)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(identity)

    server = DeafServer(n_deaf=0)
    async with server.listening(tls) as url:
        expected = pytest.raises(TimeoutError) if is_impostor else contextlib.nullcontext()
        with expected:
            await wait_for_answer(spawner, url)
