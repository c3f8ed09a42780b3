"""A proxy of several workers: each leads to all sessions, and one that ends takes none along."""

import http.client
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeVar

import psutil
import pytest
import websocket

from tests.support.eventually import eventually
from tests.support.pinned_server import ADDRESS, PinnedServer
from tests.support.private_hub import free_ports
from tests.support.site_proxy import SiteProxy

N_WORKERS = 2
T = TypeVar("T", http.client.HTTPConnection, websocket.WebSocket)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteProxy]:
    with SiteProxy(tmp_path_factory.mktemp("proxy"), N_WORKERS) as proxy:
        yield proxy


@pytest.fixture
def server(proxy: SiteProxy) -> Iterator[PinnedServer]:
    """The session of ada."""
    with PinnedServer(proxy.certificates_dir) as server:
        proxy.add("ada", server)
        yield server


@contextmanager
def one_each(proxy: SiteProxy, connect: Callable[[], T]) -> Iterator[dict[int, T]]:
    """Connect until each worker has a connection; yield them by worker."""
    found: dict[int, T] = {}
    with ExitStack() as stack:
        while len(found) < N_WORKERS:
            connection = connect()
            stack.callback(connection.sock.close)
            # The worker takes it a moment later.
            worker = eventually(lambda of=connection: proxy.worker_of(of.sock), timeout_s=20)
            found.setdefault(worker, connection)
        yield found


def connections(proxy: SiteProxy) -> AbstractContextManager[dict[int, http.client.HTTPConnection]]:
    def connect() -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(ADDRESS, proxy.port, timeout=30)
        connection.connect()
        return connection

    return one_each(proxy, connect)


def websockets(proxy: SiteProxy) -> AbstractContextManager[dict[int, websocket.WebSocket]]:
    url = f"ws://{ADDRESS}:{proxy.port}/user/ada/api/kernels"
    return one_each(proxy, lambda: websocket.create_connection(url, timeout=30))


def ask(connection: http.client.HTTPConnection) -> int:
    connection.request("GET", "/user/ada/1")
    with connection.getresponse() as answer:
        answer.read()
        return answer.status


def statuses(proxy: SiteProxy) -> list[int]:
    """Return what each worker answers for ada's session."""
    with connections(proxy) as found:
        return [ask(connection) for connection in found.values()]


def test_once_the_hub_is_answered_each_worker_has_a_route_and_none_one_that_is_gone(
    proxy: SiteProxy, server: PinnedServer
) -> None:
    with_route = statuses(proxy)
    proxy.ask("DELETE", "routes/user/ada")
    without = statuses(proxy)
    proxy.add("ada", server)

    assert with_route == statuses(proxy) == [200] * N_WORKERS
    # The hub, to which all other paths lead, is not there.
    assert without == [503] * N_WORKERS


def test_no_worker_sends_a_byte_to_another_server_than_the_sessions_own(
    proxy: SiteProxy, server: PinnedServer
) -> None:
    with PinnedServer(proxy.certificates_dir) as other:
        proxy.add("ada", other, server.certificate)

        assert statuses(proxy) == [503] * N_WORKERS
        assert other.n_requests == 0


def test_the_hub_hears_from_each_worker_that_a_session_is_used(
    proxy: SiteProxy, server: PinnedServer
) -> None:
    def used_at() -> str:
        return str(proxy.ask("GET", "routes").json()["/user/ada"]["last_activity"])

    with connections(proxy) as found:
        for connection in found.values():
            before = used_at()
            ask(connection)

            eventually(lambda before=before: used_at() > before, timeout_s=20)


def test_a_killed_worker_ends_its_own_connections_and_the_next_one_has_all_routes(
    proxy: SiteProxy, server: PinnedServer
) -> None:
    start = proxy.ask("GET", "start").json()
    with websockets(proxy) as found:
        (killed, lost), (_, kept) = found.items()

        psutil.Process(killed).kill()

        with pytest.raises(websocket.WebSocketConnectionClosedException):
            lost.recv()
        kept.send("still here")
        assert kept.recv() == "still here"
    eventually(lambda: killed not in {one.pid for one in proxy.processes}, timeout_s=30)
    assert statuses(proxy) == [200] * N_WORKERS
    # The hub need not do anything.
    assert proxy.ask("GET", "start").json() == start


@pytest.mark.release
def test_a_worker_that_hangs_is_ended_so_that_sessions_can_start(
    proxy: SiteProxy, server: PinnedServer
) -> None:
    hung = proxy.processes[1]
    hung.suspend()

    proxy.add("linus", server)

    eventually(lambda: hung not in proxy.processes, timeout_s=30)
    assert statuses(proxy) == [200] * N_WORKERS


def test_no_worker_outlives_the_first_process(proxy: SiteProxy) -> None:
    _, *workers = proxy.processes

    proxy.process.kill()

    _, alive = psutil.wait_procs(workers, timeout=30)
    assert alive == []
    proxy.process.wait(30)
    proxy.start()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_proxy_ends_in_order_when_all_its_processes_are_told_to(
    proxy: SiteProxy, end: signal.Signals
) -> None:
    for process in proxy.processes:
        process.send_signal(end)

    # What the unit calls a success.
    assert proxy.process.wait(30) == 2
    proxy.start()


def test_a_second_proxy_on_the_same_port_ends(proxy: SiteProxy) -> None:
    (api_port,) = free_ports(1)

    second = proxy.start_second(api_port)

    assert second.wait(60) == 1
    with socket.create_connection((ADDRESS, proxy.port), timeout=20):
        pass
