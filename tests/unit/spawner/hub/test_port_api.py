"""Who may report a port, and what counts as one."""

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.httputil import HTTPServerRequest, RequestStartLine
from tornado.web import Application, HTTPError

from spawner.certificates import make_identity
from spawner.hub.port_api import ROUTE, PortHandler, spawner_of_token

TOKEN_ID = 7


@dataclass
class FakeSpawner:
    """A session that waits for a port, unless a test says otherwise."""

    port_min: int = 30000
    port_max: int = 31000
    any_port: bool = False
    needs_certificate: bool = False
    is_waiting: bool = True
    taken: list[tuple[int, str]] = field(default_factory=list)

    def owns_token(self, token_id: int) -> bool:
        return token_id == TOKEN_ID

    def take_port(self, port: int, certificate: str = "") -> bool:
        if self.is_waiting:
            self.taken.append((port, certificate))
        return self.is_waiting


@pytest.fixture
def spawner() -> FakeSpawner:
    return FakeSpawner()


def request_of(body: object, *spawners: object, token_id: int | None = TOKEN_ID) -> Any:
    """Return a request of a user with these sessions, and with this token or none."""
    user, raw = object(), body if isinstance(body, bytes) else json.dumps(body).encode()

    class Handler(PortHandler):
        def get_token(self) -> Any:
            return None if token_id is None else SimpleNamespace(id=token_id, user=user)

        def get_current_user(self) -> Any:
            return user

        def set_default_headers(self) -> None:
            """Needs no hub."""

        def finish(self, chunk: object = None) -> Any:
            """Needs no connection."""

    sessions = {str(number): each for number, each in enumerate(spawners)}
    application = Application(users={user: SimpleNamespace(spawners=sessions)})
    connection: Any = SimpleNamespace(set_close_callback=lambda callback: None)
    line = RequestStartLine("POST", ROUTE, "HTTP/1.0")
    request = HTTPServerRequest(start_line=line, body=raw, connection=connection)
    return Handler(application, request)


async def refusal_of(request: Any) -> HTTPError:
    with pytest.raises(HTTPError) as caught:
        await request.post()
    return caught.value


async def test_the_port_of_a_session_that_waits_is_taken(spawner: FakeSpawner) -> None:
    request = request_of({"port": 30000}, SimpleNamespace(), spawner)

    await request.post()

    assert request.get_status() == 204
    assert spawner.taken == [(30000, "")]


@pytest.mark.parametrize(
    "body",
    [
        {},
        [30000],
        30000,
        {"port": "30000"},
        {"port": 30000.0},
        {"port": True},
        {"port": None},
        {"port": 30000, "exec_prefix": ""},
        {"exec_prefix": "", "batch_query_cmd": "id"},
        b"port=30000",
        b"\xff",
        b'{"port": 30000}' + b" " * 5000,
    ],
    ids=lambda body: str(body)[:40],
)
async def test_anything_but_one_integer_is_refused(spawner: FakeSpawner, body: object) -> None:
    refusal = await refusal_of(request_of(body, spawner))

    assert refusal.status_code == 400
    assert "with one integer N" in str(refusal.log_message)
    assert spawner.taken == []


@pytest.mark.parametrize(
    ("port", "any_port", "is_taken"),
    [
        (29999, False, False),
        (30000, False, True),
        (31000, False, True),
        (31001, False, False),
        (31001, True, True),
        (1024, True, True),
        (1023, True, False),
        (65535, True, True),
        (65536, True, False),
        (-1, True, False),
    ],
)
async def test_a_port_outside_the_sites_range_is_taken_only_from_a_session_that_may_choose(
    spawner: FakeSpawner,
    monkeypatch: pytest.MonkeyPatch,
    port: int,
    any_port: bool,
    is_taken: bool,
) -> None:
    told: list[int] = []

    async def log_taken(handler: PortHandler, spawner: object, port: int) -> None:
        told.append(port)

    monkeypatch.setattr(PortHandler, "_log_taken", log_taken)
    spawner.any_port = any_port
    request = request_of({"port": port}, spawner)

    if is_taken:
        await request.post()
    else:
        refusal = await refusal_of(request)
        assert refusal.status_code == 400
        assert f"{port} is outside 30000 to 31000" in str(refusal.log_message)

    assert spawner.taken == ([(port, "")] if is_taken else [])
    assert told == ([port] if is_taken and not 30000 <= port <= 31000 else [])


async def test_a_session_that_waits_for_no_port_gets_a_conflict(spawner: FakeSpawner) -> None:
    spawner.is_waiting = False

    refusal = await refusal_of(request_of({"port": 30000}, spawner))

    assert refusal.status_code == 409


async def test_a_session_with_tls_reports_its_certificate_with_the_port(
    spawner: FakeSpawner,
) -> None:
    spawner.needs_certificate = True
    _, certificate = make_identity("job 42", "127.0.0.1")

    without = await refusal_of(request_of({"port": 30000}, spawner))
    for wrong in ("no certificate", "ä"):
        report = {"port": 30000, "certificate": wrong}
        refusal = await refusal_of(request_of(report, spawner))
        assert refusal.status_code == 400
        assert "exactly one certificate" in str(refusal.log_message)
    assert without.status_code == 400
    assert "must report its certificate" in str(without.log_message)
    assert spawner.taken == []

    await request_of({"port": 30000, "certificate": certificate}, spawner).post()

    assert [(port, text.strip()) for port, text in spawner.taken] == [(30000, certificate.strip())]


@pytest.mark.parametrize("token_id", [None, TOKEN_ID + 1], ids=["none", "of something else"])
async def test_only_the_token_of_the_sessions_own_server_counts(
    spawner: FakeSpawner, token_id: int | None
) -> None:
    refusal = await refusal_of(request_of({"port": 30000}, spawner, token_id=token_id))

    assert refusal.status_code == 403
    assert spawner.taken == []


def test_the_token_of_a_service_is_of_no_session(
    spawner: FakeSpawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_of({}, spawner)
    monkeypatch.setattr(request, "get_token", lambda: SimpleNamespace(id=TOKEN_ID, user=None))

    with pytest.raises(HTTPError) as caught:
        spawner_of_token(request)

    assert caught.value.status_code == 403
