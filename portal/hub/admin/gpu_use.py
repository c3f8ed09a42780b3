"""The API route where a session's server reports what its GPUs and those of its kernels did."""

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

from jupyterhub.apihandlers import APIHandler
from pydantic import BaseModel, Field

from portal.hub.pages.gpu_record import GpuRecord
from spawner.hub.port_api import read_report, spawner_of_token

ROUTE = "/api/dsportal/gpu-use"
_Job = Annotated[str, Field(pattern="^[0-9]{1,10}$")]
_Percent = Annotated[float, Field(ge=0, le=100)]


class UseReport(BaseModel, strict=True):
    """What the GPUs of a session's jobs did, by job."""

    percents: Annotated[dict[_Job, _Percent], Field(max_length=100)]


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
        form = '{"percents": {JOB: N}}, with N from 0 to 100'
        reported = read_report(self, UseReport, form).percents
        percents = {int(job): percent for job, percent in reported.items()}
        if spawner.session is not None:
            record = self._record.on(spawner.session.cluster)
            await asyncio.to_thread(record.keep, spawner.user.name, percents, at_s=time.time())
        self.set_status(204)


def gpu_use_route(record_path: Path) -> tuple[str, type[GpuUseHandler], dict[str, Any]]:
    """Return the route to which sessions report the use of their GPUs."""
    return (ROUTE, GpuUseHandler, {"record_path": record_path})
