"""REST APIs `portal/api/notebook-jobs` and `portal/api/sweeps`: notebooks as jobs."""

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
from portal.server.notebook_jobs.order import former_order, parse_order, sweep_arguments

TIMEOUT_S = 60
# Of a session whose length is not known.
DEFAULT_HOURS = 8.0
_COMMAND = ("-P", "-c", "import sys; from portal.cli import user_main; sys.exit(user_main())")


class _OrderHandler(APIHandler):
    auth_resource = "jobs"

    def initialize(self, root_dir: str) -> None:
        """Store the argument of the route."""
        self.root = Path(os.path.realpath(root_dir))

    async def ask(self, action: str) -> str:
        """Return what dsportal says of the order in the request."""
        return await run_dsportal(parse_order(self.request.body, self.root).arguments(action))


class NotebookJobsHandler(_OrderHandler):
    """Notebooks as jobs."""

    @for_the_user
    async def get(self) -> None:
        """Return what the form begins with.

        That is the session's own size, or that of a former `run` with its `parameters` and its
        `path`, what `budget` is left, the `clock` of the cluster, and where `mail` goes.
        """
        n_gpus = whole_number(os.environ.get("PORTAL_N_GPUS", ""), 1)
        walltime_s = whole_number(os.environ.get("PORTAL_WALLTIME_S", ""), 0)
        hours = round(walltime_s / 3600, 2) or DEFAULT_HOURS
        size = {"gpus": max(1, n_gpus), "nodes": 1, "hours": hours}
        run = self.get_query_argument("run", "")
        former = former_order(run, parent_folder(), self.root) if run else {}
        size |= former.pop("size", {})
        partition = job_name_of(os.environ, "SLURM_JOB_PARTITION")
        charged = await read_charged(os.environ, partition)
        known = {
            **{"size": size, "budget": charged.left, "clock": time.strftime("%H:%M %Z")},
            # Only where the site sends mail itself; Slurm does not say whether it does.
            "mail": os.environ.get("PORTAL_MAIL_ADDRESS", ""),
        }
        self.finish({**known, **former})

    @for_the_user
    async def post(self) -> None:
        """Queue a job: 201 and `{"message": sentence}`."""
        message = await self.ask("--submit")
        self.set_status(201)
        self.finish({"message": message})


class SweepsHandler(_OrderHandler):
    """Sweeps of notebooks, and the tables of all."""

    # Who follows one asks every few seconds, which must not count as activity.
    _track_activity = False

    @for_the_user
    async def post(self) -> None:
        """Queue one: 201 and its `name`, with a `message`."""
        told = await run_dsportal(sweep_arguments(self.request.body, self.root))
        self.set_status(201)
        self.finish(told)

    @for_the_user
    async def get(self) -> None:
        """Return how far the one is that `name` names, or the newest: its `rows` and `words`."""
        self.finish(await run_dsportal(["sweep", "show", "--json", *self._named()]))

    @for_the_user
    async def delete(self) -> None:
        """Cancel what of it runs or waits: 200 and a `message`."""
        self.finish(await run_dsportal(["sweep", "stop", "--json", *self._named()]))

    def _named(self) -> list[str]:
        name = self.get_query_argument("name", "")
        # Not an option of the command.
        if name.startswith("-") or "\0" in name:
            raise OptionsError(f"There is no sweep {name!r:.80}.")
        return [name] if name else []


class NotebookForecastHandler(_OrderHandler):
    """When such a job would start."""

    # A form asks with each change, which must not count as activity.
    _track_activity = False

    @for_the_user
    async def post(self) -> None:
        """Ask Slurm; nothing is queued: 200 and `{"message": sentence}`, or why it is refused."""
        self.finish({"message": await self.ask("--forecast")})


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
            f"Slurm gave no answer within {TIMEOUT_S} s. Look at your Slurm jobs, and try again."
        ) from error
    if process.returncode:
        words = said.decode(errors="replace").strip().removeprefix("dsportal: ")
        raise OptionsError(words or "dsportal has failed, and nothing said why. Try again.")
    return printed.decode(errors="replace").strip()
