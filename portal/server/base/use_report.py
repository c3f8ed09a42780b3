"""Tells the hub now and then how much the GPUs of the session and of its kernels are used."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from portal.server.base.hub_api import HubError
from portal.server.base.periodic import PeriodicCall

INTERVAL_S = 600.0
# At the end of a session nothing waits for the hub.
_LAST_S = 2.0


class UseReport:
    """The average use of the GPUs of jobs, until the hub has heard of it.

    Args:
        send: Tells the hub of the average use so far, 0 to 100, by job.
    """

    def __init__(self, send: Callable[[Mapping[int, float]], Awaitable[None]]) -> None:
        self._send = send
        self._new: dict[int, float] = {}
        self._sends = PeriodicCall(self.send, INTERVAL_S)

    def note(self, job_id: int, percent: float | None) -> None:
        """Note the average use of a job's GPUs so far, 0 to 100; None if it is not known."""
        if job_id and percent is not None:
            self._new[job_id] = percent

    def start(self) -> None:
        """Report every ten minutes."""
        self._sends.start()

    async def stop(self) -> None:
        """Report what is new, if the hub answers soon."""
        await self._sends.stop()
        await asyncio.wait({asyncio.ensure_future(self.send())}, timeout=_LAST_S)

    async def send(self) -> None:
        """Report what is new; what the hub does not take is reported the next time."""
        told, self._new = self._new, {}
        if not told:
            return
        try:
            await self._send({job_id: round(percent, 1) for job_id, percent in told.items()})
        except HubError:
            self._new = told | self._new
