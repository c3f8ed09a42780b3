"""The API route where a session's server reports what its GPUs and those of its kernels did."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from jupyterhub.apihandlers import APIHandler
from tornado.web import HTTPError

from portal.hub.pages.gpu_record import GpuRecord
from spawner.hub.port_api import spawner_of_token

ROUTE = "/api/dsportal/gpu-use"
_MOST_BODY_BYTES = 4096
_MOST_JOBS = 100
_MOST_DIGITS = 10


class GpuUseHandler(APIHandler):
    """Takes `{"percents": {JOB: N}}` from a session: average use so far, 0 to 100, by job.

    A session belongs to its user, who could report anything, but only of the user's own jobs.
    """

    def initialize(self, record_path: Path) -> None:
        """Take the arguments of the route."""
        self._record = GpuRecord(record_path)

    async def post(self) -> None:
        """Keep it: 204."""
        spawner = spawner_of_token(self)
        percents = read_report(self.request.body)
        if percents is None:
            raise HTTPError(400, 'The body has to be {"percents": {JOB: N}}, with N from 0 to 100.')
        if spawner.session is not None:
            record = self._record.on(spawner.session.cluster)
            await asyncio.to_thread(record.keep, spawner.user.name, percents, at_s=time.time())
        self.set_status(204)


def read_report(body: bytes) -> dict[int, float] | None:
    """Return the average use by job that a session reports; None if it is no report."""
    try:
        # Cut, so that a session cannot make the hub parse a megabyte.
        percents = json.loads(body[:_MOST_BODY_BYTES])["percents"].items()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    is_plain = len(percents) <= _MOST_JOBS and all(
        # `type`, for JSON's true is an int to isinstance.
        job.isascii()
        and job.isdecimal()
        and len(job) <= _MOST_DIGITS
        and type(percent) in {int, float}
        and 0 <= percent <= 100
        for job, percent in percents
    )
    return {int(job): float(percent) for job, percent in percents} if is_plain else None


def gpu_use_route(record_path: Path) -> tuple[str, type[GpuUseHandler], dict[str, Any]]:
    """Return the route to which sessions report the use of their GPUs."""
    return (ROUTE, GpuUseHandler, {"record_path": record_path})
