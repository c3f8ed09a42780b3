"""The node's side: the address, the port that is kept, and the report to the hub."""

import http.server
import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from spawner.node.port_report import PortReporter, ReportError, report_stop
from spawner.node.singleuser import bind_port, find_address, is_worth_logging, service_url
from tests.support.stand_in_server import Handler, serving


class Hub(http.server.ThreadingHTTPServer):
    """A hub that answers with the given statuses, then with 204."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), HubHandler)
        self.statuses: list[int] = []
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hub/api"


class HubHandler(Handler):
    server: Hub

    def do_POST(self) -> None:
        self.server.requests.append((self.path, dict(self.headers), self.read_json()))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.end_headers()

    def do_DELETE(self) -> None:
        self.server.requests.append((self.path, dict(self.headers), None))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 202)
        self.end_headers()


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub()) as hub:
        yield hub


class Time:
    """A clock that passes only by pausing."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def reporter(api_url: str, time: Time | None = None, **kwargs: Any) -> PortReporter:
    time = time or Time()
    environment = {"JUPYTERHUB_API_URL": api_url, "JUPYTERHUB_API_TOKEN": "abc"}
    return PortReporter(environment, 31234, clock=time, pause=time.pause, **kwargs)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_the_report_is_one_integer_with_the_sessions_token(hub: Hub) -> None:
    reporter(hub.api_url).report()

    ((path, headers, body),) = hub.requests
    assert path == "/hub/api/dsportal/port"
    assert headers["Authorization"] == "token abc"
    assert body == {"port": 31234}


def test_a_server_with_a_certificate_reports_it_with_the_port(hub: Hub) -> None:
    reporter(hub.api_url, certificate="PEM").report()

    ((_, _, body),) = hub.requests
    assert body == {"port": 31234, "certificate": "PEM"}


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_hub_that_has_trouble_is_told_again(hub: Hub, status: int) -> None:
    hub.statuses = [status] * 3
    time = Time()

    reporter(hub.api_url, time).report()

    assert len(hub.requests) == 4
    assert time.pauses[0] < time.pauses[1] < time.pauses[2]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409])
def test_a_hub_that_does_not_want_the_server_ends_it_with_a_clear_line(
    hub: Hub, status: int
) -> None:
    hub.statuses = [status]

    with pytest.raises(ReportError, match=f"does not take this server: {status}.*new session"):
        reporter(hub.api_url).report()

    assert len(hub.requests) == 1


def test_a_hub_that_is_away_is_waited_for_some_minutes_and_not_for_ever() -> None:
    time = Time()

    with pytest.raises(ReportError, match="did not take the port in 600 s"):
        reporter(f"http://127.0.0.1:{free_port()}", time).report()

    assert 600 <= time.now < 660
    assert max(time.pauses) < 15


def test_a_hub_that_comes_back_is_told() -> None:
    port, back = free_port(), ExitStack()
    hubs: list[Hub] = []

    class Restart(Time):
        def pause(self, seconds: float) -> None:
            super().pause(seconds)
            if len(self.pauses) == 3:
                hubs.append(back.enter_context(serving(Hub(port))))

    with back:
        reporter(f"http://127.0.0.1:{port}/hub/api", Restart()).report()

    assert len(hubs[0].requests) == 1


@pytest.mark.parametrize("status", [202, 403, 500])
def test_a_server_that_ends_says_so_once_whatever_the_hub_answers(hub: Hub, status: int) -> None:
    hub.statuses = [status]

    report_stop({"JUPYTERHUB_API_URL": hub.api_url, "JUPYTERHUB_API_TOKEN": "abc"})

    ((path, headers, _),) = hub.requests
    assert path == "/hub/api/dsportal/session?because=exit"
    assert headers["Authorization"] == "token abc"


def test_a_server_ends_without_a_hub_too() -> None:
    url = f"http://127.0.0.1:{free_port()}/hub/api"

    report_stop({"JUPYTERHUB_API_URL": url, "JUPYTERHUB_API_TOKEN": "abc"})


def test_an_error_of_the_report_is_told_to_the_waiting_server(hub: Hub) -> None:
    hub.statuses = [403]
    one = reporter(hub.api_url)

    one.start()

    with pytest.raises(ReportError, match="403"):
        one.wait()


def test_the_port_is_in_the_range_and_stays_taken() -> None:
    sock = bind_port("127.0.0.1", 30000, 30999)

    with sock, socket.socket() as other:
        address, port = sock.getsockname()
        assert address == "127.0.0.1"
        assert 30000 <= port <= 30999
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        with socket.create_connection((address, port), timeout=5):
            pass


def test_a_range_with_one_free_port_gives_that_one() -> None:
    with bind_port("127.0.0.1", 30000, 32000) as first:
        taken = first.getsockname()[1]
        with bind_port("127.0.0.1", taken, taken + 1) as second:
            assert second.getsockname()[1] == taken + 1


def test_an_address_of_another_machine_is_no_full_range() -> None:
    with pytest.raises(OSError, match="assign"):
        bind_port("192.0.2.1", 30000, 32000)


def test_the_address_is_the_one_that_reaches_the_hub() -> None:
    assert find_address({"JUPYTERHUB_API_URL": "http://127.0.0.1:8081/hub/api"}) == "127.0.0.1"


def test_a_site_may_set_the_address() -> None:
    environment = {
        "JUPYTERHUB_API_URL": "http://127.0.0.1:8081/hub/api",
        "PORTAL_NODE_ADDRESS": "10.1.2.3",
    }

    assert find_address(environment) == "10.1.2.3"


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("10.77.0.11", "https://10.77.0.11:31234/user/ada/"),
        ("fd00::11", "https://[fd00::11]:31234/user/ada/"),
    ],
)
def test_the_server_gets_its_own_address_in_the_hubs_url(address: str, url: str) -> None:
    environment = {"JUPYTERHUB_SERVICE_URL": "https://0.0.0.0:0/user/ada/"}

    assert service_url(environment, address, 31234) == url


@pytest.mark.parametrize(
    ("message", "is_logged"),
    [
        ("The websocket_ping_timeout (90000) cannot be longer than the websocket_ping_", False),
        ("Connect error on fd 12: ECONNREFUSED", True),
    ],
)
def test_the_log_leaves_out_only_tornados_doubt_about_pings(message: str, is_logged: bool) -> None:
    record = logging.LogRecord("tornado.general", logging.WARNING, "", 0, message, None, None)

    assert is_worth_logging(record) is is_logged
