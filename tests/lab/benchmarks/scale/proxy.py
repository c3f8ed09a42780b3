"""What the portal's proxy carries as one process and with two workers, in turns."""

import contextlib
import socket
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import websocket

from spawner.certificates import make_identity
from tests.lab.benchmarks.report import Table
from tests.lab.benchmarks.rounds import Rounds
from tests.support.pinned_server import ADDRESS, PinnedServer
from tests.support.site_proxy import SiteProxy

N_WORKERS = (1, 2)
N_ROUTES = 1_000
WINDOW_S = 4.0
N_CONNECTIONS, N_DOWNLOADS = 16, 4
_SMALL_BYTES = 200
_MESSAGE = b"m" * 100
_ENDLESS_BYTES = 10**13

# Does one thing over a connection that is open, and returns how much of it.
Step = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What came through in one round.

    Attributes:
        cpu_ms_per_request: Of all processes of the proxy.
        memory_mib: The same, with `N_ROUTES` routes, each with a certificate of its own.
    """

    requests_per_s: float
    cpu_ms_per_request: float
    mib_per_s: float
    messages_per_s: float
    memory_mib: float


def measure_proxy(n_rounds: int) -> dict[int, list[Load]]:
    """Return what came through in each round, by the number of workers."""
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in N_WORKERS]
        proxies = [
            (
                proxy := stack.enter_context(SiteProxy(folder, n)),
                stack.enter_context(PinnedServer(proxy.certificates_dir)),
            )
            for folder, n in zip(folders, N_WORKERS, strict=True)
        ]
        for proxy, server in proxies:
            proxy.add("ada", server)
            for number in range(N_ROUTES - 1):
                proxy.add(f"user{number}", server, make_identity("a session", ADDRESS)[1])
        loads: dict[int, list[Load]] = {n: [] for n in N_WORKERS}
        for _ in range(n_rounds):
            for n, (proxy, _server) in zip(N_WORKERS, proxies, strict=True):
                loads[n].append(_measure(proxy))
                print(n, loads[n][-1], flush=True)
        return loads


def table_of(loads: dict[int, list[Load]]) -> Table:
    """Return the medians with their spread."""
    return Table(
        title="The portal's proxy, by its workers, on two cores that also make the requests",
        columns=(
            *("workers", "requests/s", "CPU ms of the proxy for each"),
            *("download, MiB/s", "WebSocket messages/s", f"MiB with {N_ROUTES:,} routes"),
        ),
        rows=[
            (
                n,
                Rounds([one.requests_per_s for one in found], 0).text,
                Rounds([one.cpu_ms_per_request for one in found], 2).text,
                Rounds([one.mib_per_s for one in found], 0).text,
                Rounds([one.messages_per_s for one in found], 0).text,
                Rounds([one.memory_mib for one in found], 0).text,
            )
            for n, found in loads.items()
        ],
    )


def _measure(proxy: SiteProxy) -> Load:
    cpu_before_s, began = _cpu_s(proxy), time.monotonic()
    requests_per_s = _per_s(proxy.port, _open_request, N_CONNECTIONS)
    n_requests = requests_per_s * (time.monotonic() - began)
    return Load(
        requests_per_s=requests_per_s,
        cpu_ms_per_request=1000 * (_cpu_s(proxy) - cpu_before_s) / n_requests,
        mib_per_s=_per_s(proxy.port, _open_download, N_DOWNLOADS),
        messages_per_s=_per_s(proxy.port, _open_websocket, N_CONNECTIONS),
        memory_mib=sum(one.memory_full_info().pss for one in proxy.processes) / 2**20,
    )


def _cpu_s(proxy: SiteProxy) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in proxy.processes)


def _per_s(
    port: int, connect: Callable[[contextlib.ExitStack, int], Step], n_connections: int
) -> float:
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(n_connections) as pool:
        steps = [connect(stack, port) for _ in range(n_connections)]
        began = time.monotonic()

        def repeat(step: Step) -> float:
            done = 0.0
            while time.monotonic() < began + WINDOW_S:
                done += step()
            return done

        return sum(pool.map(repeat, steps)) / (time.monotonic() - began)


def _connect(stack: contextlib.ExitStack, port: int, n_bytes: int) -> tuple[socket.socket, bytes]:
    sock = stack.enter_context(socket.create_connection((ADDRESS, port), timeout=30))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock, b"GET /user/ada/%d HTTP/1.1\r\nHost: portal\r\n\r\n" % n_bytes


def _open_request(stack: contextlib.ExitStack, port: int) -> Step:
    sock, request = _connect(stack, port, _SMALL_BYTES)

    def ask() -> float:
        sock.sendall(request)
        answer = b""
        while not answer.endswith(b"x" * _SMALL_BYTES):
            answer += _some(sock.recv(4096))
        return 1

    return ask


def _open_download(stack: contextlib.ExitStack, port: int) -> Step:
    sock, request = _connect(stack, port, _ENDLESS_BYTES)
    sock.sendall(request)
    return lambda: len(_some(sock.recv(2**20))) / 2**20


def _open_websocket(stack: contextlib.ExitStack, port: int) -> Step:
    url = f"ws://{ADDRESS}:{port}/user/ada/api/kernels"
    sock = stack.enter_context(contextlib.closing(websocket.create_connection(url, timeout=30)))

    def echo() -> float:
        sock.send_binary(_MESSAGE)
        if sock.recv() != _MESSAGE:
            raise RuntimeError("another message came back")
        return 1

    return echo


def _some(data: bytes) -> bytes:
    if not data:
        raise ConnectionError("the proxy closed the connection")
    return data
