"""Calls that come again and again, whatever the clock of the day does."""

import asyncio
from collections.abc import Awaitable, Callable

from tornado.log import app_log


class PeriodicCall:
    """Awaits a function again and again, until it is stopped.

    Tornado's `PeriodicCallback` goes by the clock of the day: set back by an hour, it pauses for an
    hour.

    Args:
        call: Its errors are logged, and end nothing.
        interval_s: From the end of one call to the next; the first one comes at once.
    """

    def __init__(self, call: Callable[[], Awaitable[None]], interval_s: float) -> None:
        self._call = call
        self._interval_s = interval_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to call."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Call no more; a call under way is cancelled."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await self._call()
            except Exception:
                # One odd reading must not end the calls of a session that runs for days.
                app_log.exception("%s failed", getattr(self._call, "__qualname__", self._call))
            await asyncio.sleep(self._interval_s)
