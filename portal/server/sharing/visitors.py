"""Reports to the hub when anybody but its owner uses a session."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from jupyter_server.auth.identity import IdentityProvider
from jupyter_server.base.handlers import JupyterHandler

from portal.server.base.forwarding import forwarded_addresses
from portal.server.base.hub_api import HubApi, HubError
from portal.server.patches.identity_provider import check_users

# An administrator at work makes many requests a second; one report an hour is enough.
AGAIN_AFTER_S = 3600.0
_N_MOST_REMEMBERED = 1000


class Visitors:
    """Who used the session, from where, and when it was reported.

    Args:
        clock: Monotonic, in seconds.
    """

    def __init__(
        self,
        owner: str,
        hub: HubApi,
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._owner = owner
        self._hub = hub
        self._log = log
        self._clock = clock
        self._told_s: dict[tuple[str, str], float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def watch(self, identity_provider: IdentityProvider) -> None:
        """Note the user of each request; `identity_provider` is the server's."""
        check_users(identity_provider, self._see)

    async def _see(self, handler: JupyterHandler, user: Any) -> Any:
        if user is not None and user.username != self._owner:
            self.note(str(user.username), forwarded_addresses(handler.request))
        return user

    def note(self, visitor: str, address: str) -> None:
        """Report a visitor to the hub, unless that was done within the hour."""
        now_s, key = self._clock(), (visitor, address)
        if now_s - self._told_s.get(key, -AGAIN_AFTER_S) < AGAIN_AFTER_S:
            return
        if len(self._told_s) >= _N_MOST_REMEMBERED:
            # Bounds the memory; at worst a visit is reported twice.
            self._told_s.clear()
        self._told_s[key] = now_s
        task = asyncio.ensure_future(self._tell(visitor, address))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, visitor: str, address: str) -> None:
        try:
            await self._hub.report_visit(visitor, address)
        except HubError as error:
            # So that the next request reports it again.
            self._told_s.pop((visitor, address), None)
            self._log.warning("The hub was not told that %s is here: %s", visitor, error.message)
