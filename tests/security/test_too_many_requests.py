"""A user who sends requests as fast as he can, and the pages of the others meanwhile."""

from __future__ import annotations

import http.client
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import pytest
import requests

from portal.hub.settings.traffic import TrafficSettings
from tests.security.conftest import ATTACKER, ask
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient

pytestmark = pytest.mark.cluster

N_CONNECTIONS = 4
N_PAGES = 10
N_REFUSED = 100
# A page takes well under a second here; a hub that is taken from everybody does not answer at all.
LONGEST_PAGE_S = 10


class Hammer:
    """Sends requests of a user until it is told to stop."""

    def __init__(self, cookie: str) -> None:
        self._cookie = cookie
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(N_CONNECTIONS)]
        self.answers: Counter[int] = Counter()
        self.last: dict[str, str] = {}
        self.text = ""
        self.started_s = time.monotonic()

    def __enter__(self) -> Hammer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        proxy = urlsplit(ADDRESS)
        connection = http.client.HTTPConnection(str(proxy.hostname), proxy.port, timeout=60)
        while not self._stopped.is_set():
            connection.request("GET", "/hub/home", headers={"Cookie": self._cookie})
            answer = connection.getresponse()
            text = answer.read().decode()
            self.answers[answer.status] += 1
            if answer.status == 429:
                self.last, self.text = dict(answer.getheaders()), text
        connection.close()


def test_one_user_who_hammers_is_held_back_and_the_others_are_served() -> None:
    attacker, other = PortalClient(ATTACKER), PortalClient("grace")
    attacker.login().raise_for_status()
    other.login().raise_for_status()
    cookie = "; ".join(f"{one.name}={one.value}" for one in attacker.http.cookies)

    with Hammer(cookie) as hammer:
        eventually(lambda: hammer.answers[429] >= N_REFUSED, timeout_s=120)
        took_s = [page_s(other) for _ in range(N_PAGES)]
    lasted_s = time.monotonic() - hammer.started_s

    allowed = TrafficSettings()
    n_most = allowed.user_burst + allowed.user_requests_per_s * lasted_s + N_CONNECTIONS
    assert set(hammer.answers) == {200, 429}
    assert hammer.answers[200] <= n_most
    headers = {name.lower(): value for name, value in hammer.last.items()}
    assert int(headers["retry-after"]) >= 1
    assert "Try again in " in hammer.text
    assert sorted(took_s)[N_PAGES // 2] < LONGEST_PAGE_S
    # When he waits, he is served again.
    assert ask("GET", "/hub/home", headers={"Cookie": cookie}).status_code == 200


def page_s(client: PortalClient) -> float:
    """Open the home page of a user; return how long that took, in seconds."""
    before = time.monotonic()
    answer: requests.Response = client.http.get(f"{ADDRESS}/hub/home", timeout=60)
    assert answer.status_code == 200, answer.text[:200]
    return time.monotonic() - before
