"""People at a large site: pages, starts and reports of activity, each at its own rate."""

import asyncio
import contextlib
import itertools
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest, HTTPResponse

from tests.lab.benchmarks.pages.hubs import log_in
from tests.lab.benchmarks.scale.sessions import ACTIVITY_INTERVAL_S
from tests.lab.benchmarks.scale.site import Site

# People who look, over and over, and the share of the form in their pages.
N_PEOPLE = 40
_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Rates:
    """What comes to the hub."""

    pages_per_s: float
    starts_per_min: float


@dataclass(slots=True)
class Found:
    """What people met.

    Attributes:
        took_ms: Of each page, by its name.
        starts_ms: From the request for a session until it was ready.
        n_failed: Starts that ended without a session, or took over a minute.
        n_failed_pages: Pages that did not come within a minute, or with an error.
    """

    took_ms: dict[str, list[float]] = field(default_factory=lambda: {"spawn": [], "home": []})
    starts_ms: list[float] = field(default_factory=list)
    n_failed: int = 0
    n_failed_pages: int = 0


class People:
    """Users of a site who have logged in: some with a session, some without, some to start one."""

    def __init__(self, site: Site, n_starters: int) -> None:
        owners = list(site.tokens)[:N_PEOPLE]
        self._site = site
        self._pages = {
            "home": [log_in(site.url, name) for name in owners],
            "spawn": [log_in(site.url, f"visitor{number}") for number in range(N_PEOPLE)],
        }
        self._starters = [f"starter{number}" for number in range(n_starters)]
        for name in self._starters:
            log_in(site.url, name)

    async def load(self, rates: Rates, window_s: float) -> Found:
        """Have all of them ask for as long."""
        self._client = AsyncHTTPClient(force_instance=True, max_clients=500)
        self._found = Found()
        activity_per_s = self._site.n_sessions / ACTIVITY_INTERVAL_S
        pages = itertools.cycle(
            [("spawn", n) for n in range(N_PEOPLE)] + [("home", n) for n in range(N_PEOPLE)]
        )
        order = list(itertools.islice(pages, 2 * N_PEOPLE))
        random.Random(1).shuffle(order)
        self._orders, self._reports, self._starts = (
            itertools.cycle(order),
            itertools.cycle(self._site.tokens.items()),
            iter(self._starters),
        )
        await asyncio.gather(
            _at_rate(rates.pages_per_s, window_s, self._look),
            _at_rate(activity_per_s, window_s, self._report),
            _at_rate(rates.starts_per_min / 60, window_s, self._start),
        )
        self._client.close()
        return self._found

    async def _look(self) -> None:
        page, number = next(self._orders)
        began = time.monotonic()
        try:
            answer = await self._ask("GET", f"/{page}", {"Cookie": self._pages[page][number]})
            if {"spawn": b"<form", "home": b'id="stop"'}[page] not in answer.body:
                raise RuntimeError(f"not the page {page!r}: {answer.body[:2000].decode()}")
        except HTTPClientError:
            self._found.n_failed_pages += 1
        # A page that did not come counts with the time that was waited for it.
        self._found.took_ms[page].append(1000 * (time.monotonic() - began))

    async def _report(self) -> None:
        name, token = next(self._reports)
        now = datetime.now(UTC).isoformat()
        body = {"last_activity": now, "servers": {"": {"last_activity": now}}}
        # A server tells of it again.
        with contextlib.suppress(HTTPClientError):
            await self._ask("POST", f"/api/users/{name}/activity", _token(token), body)

    async def _start(self) -> None:
        name, began = next(self._starts), time.monotonic()
        with contextlib.suppress(HTTPClientError):
            if await self._is_started(name):
                self._found.starts_ms.append(1000 * (time.monotonic() - began))
                return
        self._found.n_failed += 1

    async def _is_started(self, name: str) -> bool:
        """Start a session, and follow its steps as the waiting page does."""
        headers = _token(self._site.operator)
        await self._ask("POST", f"/api/users/{name}/server", headers, {"gpus": 1})
        answer = await self._ask("GET", f"/api/users/{name}/server/progress", headers)
        *_, last = (line for line in answer.body.splitlines() if line.startswith(b"data:"))
        return bool(json.loads(last.removeprefix(b"data:")).get("ready"))

    async def _ask(
        self, method: str, path: str, headers: dict[str, str], body: object = None
    ) -> HTTPResponse:
        return await self._client.fetch(
            HTTPRequest(
                f"{self._site.url}{path}",
                method=method,
                headers=headers,
                body=None if body is None else json.dumps(body),
                request_timeout=_TIMEOUT_S,
            )
        )


def _token(token: str) -> dict[str, str]:
    return {"Authorization": f"token {token}"}


async def _at_rate(per_s: float, window_s: float, act: Callable[[], Awaitable[None]]) -> None:
    """Act at random moments, however long the ones before still take."""
    chance, began, tasks, due_s = random.Random(2), time.monotonic(), [], 0.0
    while (due_s := due_s + chance.expovariate(per_s)) < window_s:
        await asyncio.sleep(max(0.0, began + due_s - time.monotonic()))
        tasks.append(asyncio.ensure_future(act()))
    await asyncio.gather(*tasks)
