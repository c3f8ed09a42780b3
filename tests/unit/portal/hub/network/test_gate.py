"""Whose allowance a request is taken from, and what it costs."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, RequestStartLine

from portal.hub.network import gate as module
from portal.hub.network.gate import (
    FILE_COST,
    LOG_EVERY_S,
    Admission,
    Gate,
    GuardSettings,
    Refusal,
    request_cost,
)
from portal.hub.network.senders import Kind, Sender
from portal.hub.settings.traffic import TrafficSettings
from tests.support.clock import Clock

ADA = Sender(Kind.USER, "ada")
GRACE = Sender(Kind.USER, "grace")
STRANGER = Sender(Kind.ADDRESS, "192.0.2.7")
TRAFFIC = TrafficSettings(
    user_requests_per_s=1,
    user_burst=10,
    user_at_once=5,
    address_requests_per_s=1,
    address_burst=10,
    address_at_once=5,
)


class Senders:
    """Says who sends each request."""

    sender = ADA

    def of(self, *_: object) -> Sender:
        return self.sender


class Entrance:
    """A gate, the sender of its next request, and the clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.senders, self.clock = Senders(), Clock()
        monkeypatch.setattr(module, "Senders", lambda *_: self.senders)
        settings = {"log": logging.getLogger(__name__), "hub": SimpleNamespace(base_url="/hub/")}
        guarding = GuardSettings(traffic=TRAFFIC)
        self.gate = Gate(settings, guarding, self.clock)

    def ask(self, sender: Sender, path: str = "/hub/home") -> Any:
        self.senders.sender = sender
        return self.gate.enter(RequestStartLine("GET", path, "HTTP/1.1"), HTTPHeaders(), None)

    def ask_until_refused(self, sender: Sender, path: str = "/hub/home") -> int:
        """Return how many requests in a row were admitted, each of which ends at once."""
        n = 0
        while isinstance(answer := self.ask(sender, path), Admission):
            answer.request.leave()
            n += 1
        assert isinstance(answer, Refusal)
        return n


@pytest.fixture
def entrance(monkeypatch: pytest.MonkeyPatch) -> Entrance:
    return Entrance(monkeypatch)


def test_sign_ins_count_apart_from_everything_else(entrance: Entrance) -> None:
    entrance.ask_until_refused(STRANGER)

    assert entrance.ask_until_refused(STRANGER, "/hub/api/oauth2/token") == 10


def test_only_a_sender_without_a_login_is_a_stranger(entrance: Entrance) -> None:
    assert entrance.ask(STRANGER).stranger == STRANGER.name
    assert entrance.ask(ADA).stranger == ""


def test_refusals_are_logged_once_a_minute_for_each_sender(
    entrance: Entrance, caplog: pytest.LogCaptureFixture
) -> None:
    for sender in (ADA, GRACE):
        entrance.ask_until_refused(sender)
        for _ in range(50):
            entrance.ask(sender)
    assert [("ada" in one, "grace" in one) for one in caplog.messages] == [
        (True, False),
        (False, True),
    ]

    entrance.clock.now_s += LOG_EVERY_S
    entrance.ask_until_refused(ADA)
    assert "ada" in caplog.messages[2]


@pytest.mark.parametrize(
    ("path", "cost"),
    [
        ("/hub/home", 1.0),
        ("/hub/api/users", 1.0),
        ("/hub/static/js/home.js", FILE_COST),
        ("/hub/static/js/home.js?v=1", FILE_COST),
        ("/hub/portal/static/a.css", FILE_COST),
        ("/hub/logo", FILE_COST),
        ("/hub/help/images/login.png", FILE_COST),
        ("/hub/help", 1.0),
        ("/hub/healthy", 1.0),
        ("/hub/health", 0.0),
        ("/hub/health?x=1", 0.0),
        # Only the beginning names a folder of files.
        ("/hub/home?next=/hub/static/", 1.0),
        ("/hub/home/static/", 1.0),
        ("/other/hub/static/a.js", 1.0),
    ],
)
def test_pages_cost_one_files_an_eighth_and_health_nothing(path: str, cost: float) -> None:
    assert request_cost(path, "/hub/") == cost
