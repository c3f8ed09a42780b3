"""Tells the hub of people other than its user who use a session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from portal.server.hub_api import HubApi, HubError

# An administrator at work makes many requests a second; one line for each hour is told.
AGAIN_AFTER_S = 3600.0
_N_MOST_REMEMBERED = 1000


class Visitors:
    """Who was here, from where, and when it was told.

    Args:
        owner: Whose session it is.
        hub: The hub.
        log: The server's log.
        clock: Seconds that only go on.
    """

    def __init__(
        self, owner: str, hub: HubApi, log: Any, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._owner = owner
        self._hub = hub
        self._log = log
        self._clock = clock
        self._told_s: dict[tuple[str, str], float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def watch(self, identity_provider: Any) -> None:
        """Look at each request, plain or websocket, with a cookie or a token.

        Args:
            identity_provider: The server's, which says who makes a request.
        """
        ask = identity_provider.get_user

        async def get_user(handler: Any) -> Any:
            user = await ask(handler)
            if user is not None and user.username != self._owner:
                self.note(str(user.username), address_of(handler.request))
            return user

        identity_provider.get_user = get_user

    def note(self, visitor: str, address: str) -> None:
        """Tell the hub of a visitor, unless it was told within the hour.

        Args:
            visitor: A user's name.
            address: Where the request comes from.
        """
        now_s, key = self._clock(), (visitor, address)
        if now_s - self._told_s.get(key, -AGAIN_AFTER_S) < AGAIN_AFTER_S:
            return
        if len(self._told_s) >= _N_MOST_REMEMBERED:
            self._told_s.clear()
        self._told_s[key] = now_s
        task = asyncio.ensure_future(self._tell(visitor, address))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, visitor: str, address: str) -> None:
        try:
            await self._hub.tell_visit(visitor, address)
        except HubError as error:
            self._told_s.pop((visitor, address), None)
            self._log.warning("The hub was not told that %s is here: %s", visitor, error.message)


def address_of(request: Any) -> str:
    """Return where a request comes from.

    Args:
        request: The request.

    Returns:
        All addresses that it passed, as the proxies wrote them down; only the last ones are
        beyond doubt.
    """
    passed = str(request.headers.get("X-Forwarded-For", "")) or str(request.remote_ip)
    return "".join(c for c in passed if c.isascii() and c.isprintable())[:200] or "unknown"
