"""REST API `portal/api/notebook-jobs`: run a notebook as a job, and when it would start."""

import asyncio
import os
import sys
import time
from pathlib import Path

from jupyter_server.base.handlers import APIHandler

from dsportal.slurm.errors import OptionsError
from dsportal.task.folders import parent_folder
from portal.server.base.authorization import for_the_user, whole_number
from portal.server.base.budget import job_name_of, read_charged
from portal.server.notebook_jobs.order import check_budget, former_order, parse_order
from spawner.slurm.resources import ResourcesPerGpu

TIMEOUT_S = 60
# Of a session whose length is not known.
DEFAULT_HOURS = 8.0
_COMMAND = ("-P", "-c", "import sys; from portal.cli import user_main; sys.exit(user_main())")


class _OrderHandler(APIHandler):
    auth_resource = "jobs"

    def initialize(self, root_dir: str, per_gpu: ResourcesPerGpu) -> None:
        """Store the arguments of the route."""
        self.root = Path(os.path.realpath(root_dir))
        self.per_gpu = per_gpu

    async def ask(self, action: str) -> str:
        """Return what dsportal says of the order in the request."""
        order = parse_order(self.request.body, self.root)
        charged = await read_charged(os.environ, _partition())
        check_budget(order, self.per_gpu, charged)
        return await run_dsportal(order.arguments(action))


class NotebookJobsHandler(_OrderHandler):
    """Notebooks as jobs."""

    @for_the_user
    async def get(self) -> None:
        """Return what the form begins with.

        That is the session's own size, or that of a former `run` with its `parameters` and its
        `path`, what `budget` is left, and the `clock` of the cluster.
        """
        n_gpus = whole_number(os.environ.get("PORTAL_N_GPUS", ""), 1)
        walltime_s = whole_number(os.environ.get("PORTAL_WALLTIME_S", ""), 0)
        hours = round(walltime_s / 3600, 2) or DEFAULT_HOURS
        size = {"gpus": max(1, n_gpus), "nodes": 1, "hours": hours}
        run = self.get_query_argument("run", "")
        former = former_order(run, parent_folder(), self.root) if run else {}
        size |= former.pop("size", {})
        charged = await read_charged(os.environ, _partition())
        known = {"size": size, "budget": charged.left, "clock": time.strftime("%H:%M %Z")}
        self.finish({**known, **former})

    @for_the_user
    async def post(self) -> None:
        """Queue a job: 201 and `{"message": sentence}`."""
        message = await self.ask("--submit")
        self.set_status(201)
        self.finish({"message": message})


class NotebookForecastHandler(_OrderHandler):
    """When such a job would start."""

    # A form asks with each change, which must not count as activity.
    _track_activity = False

    @for_the_user
    async def post(self) -> None:
        """Ask Slurm; nothing is queued: 200 and `{"message": sentence}`, or why it is refused."""
        self.finish({"message": await self.ask("--forecast")})


def _partition() -> str:
    return job_name_of(os.environ, "SLURM_JOB_PARTITION")


async def run_dsportal(arguments: list[str]) -> str:
    """Run the command of sessions, as the user does in a terminal; return what it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *_COMMAND,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        printed, said = await asyncio.wait_for(process.communicate(), TIMEOUT_S)
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise OptionsError(
            f"The job was not queued within {TIMEOUT_S} s. Look at your Slurm jobs, and try again."
        ) from error
    if process.returncode:
        words = said.decode(errors="replace").strip().removeprefix("dsportal: ")
        raise OptionsError(words or "The job was not queued, and nothing said why. Try again.")
    return printed.decode(errors="replace").strip()
