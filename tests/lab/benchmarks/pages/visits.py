"""Users who ask a hub for a page: each at a moment of their own, or all at once."""

import asyncio
import random
import time
from collections.abc import Sequence

from tornado.httpclient import AsyncHTTPClient, HTTPRequest

from tests.lab.benchmarks.pages.hubs import RunningHub

SPAN_S = 10.0
_TIMEOUT_S = 120


def moments(n_visits: int, seed: int) -> list[float]:
    """Return seconds within `SPAN_S` at which independent users ask; the same for each `seed`."""
    chance = random.Random(seed)
    return sorted(chance.uniform(0, SPAN_S) for _ in range(n_visits))


def visit(hub: RunningHub, page: str, at_s: Sequence[float]) -> list[float]:
    """Have each user ask for a page at their moment, however long the others still wait.

    Args:
        page: "spawn" for the form, or "home".
        at_s: A moment for each user, in seconds from now; with fewer the other users do not ask.
    """
    return asyncio.run(_visit(hub, page, at_s))


def visit_at_once(hub: RunningHub, page: str) -> list[float]:
    """Have all users ask for a page at the same moment; otherwise as `visit`."""
    return visit(hub, page, [0.0] * len(hub.cookies))


async def _visit(hub: RunningHub, page: str, at_s: Sequence[float]) -> list[float]:
    client = AsyncHTTPClient(force_instance=True, max_clients=len(at_s))
    began_s = time.monotonic()

    async def ask(cookie: str, due_s: float) -> float:
        await asyncio.sleep(max(0.0, began_s + due_s - time.monotonic()))
        answer = await client.fetch(
            HTTPRequest(f"{hub.url}/{page}", headers={"Cookie": cookie}, request_timeout=_TIMEOUT_S)
        )
        took_s = time.monotonic() - began_s - due_s
        _expect_page(answer.body, page)
        return took_s * 1000

    try:
        return list(await asyncio.gather(*map(ask, hub.cookies, at_s)))
    finally:
        client.close()


def _expect_page(body: bytes, page: str) -> None:
    marks = {"spawn": (b"<form", b"GPU"), "home": (b"<html", b'id="start"')}[page]
    if not all(mark in body for mark in marks):
        raise RuntimeError(f"that is not the page {page!r}: {body[:2000].decode()}")
