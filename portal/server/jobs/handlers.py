"""REST API `portal/api/jobs` and `portal/api/runs`: the user's jobs and runs.

A run is a training that `dsportal.run` started, in this session or as a job of its own.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler

from dsportal.slurm.errors import OptionsError
from portal.server.base.authorization import RouteArguments, for_the_user, whole_number
from portal.server.jobs.job import Action, parse_action, parse_hours
from portal.server.jobs.listing import JobList


class _JobsAPIHandler(RouteArguments, APIHandler):
    auth_resource = "jobs"
    # A list that is open asks every few seconds, which must not count as activity.
    _track_activity = False

    jobs: JobList
    root: Path

    def value(self, name: str) -> Any:
        """Return a value of the request's body, or None."""
        try:
            return json.loads(self.request.body)[name]
        except (ValueError, KeyError, TypeError):
            return None

    def script(self) -> Path:
        """Return the script that the request names, as a path below the file browser's root."""
        name = self.value("path")
        if not isinstance(name, str) or not name or "\0" in name:
            raise OptionsError('Name the script to submit: {"path": "folder/sample.job"}.')
        # Lexical only: links, such as the one to the shared storage, may lead out of the root.
        path = Path(os.path.normpath(self.root / name))
        if not path.is_relative_to(self.root):
            raise OptionsError("The script is outside your files. Choose one in the file browser.")
        return path

    def offset(self) -> int:
        """Return the byte from which output is asked for; -1 for its end."""
        return whole_number(self.get_query_argument("offset", ""), -1)

    def finish_empty(self) -> None:
        """Answer that it is done."""
        self.set_status(204)
        self.finish()


class JobsHandler(_JobsAPIHandler):
    """The user's jobs and runs."""

    @for_the_user
    async def get(self) -> None:
        """List them; `measure=1` also brings the sizes of runs' folders up to date."""
        if self.get_query_argument("measure", "") == "1":
            await self.jobs.runs.measure()
        self.finish(await self.jobs.as_json())

    @for_the_user
    async def post(self) -> None:
        """Submit a script.

        Source:
            `{"path": "path/from/root"}`; 201 and `{"id": "12"}`, or an error's status and
            `{"message": sentence}`.
        """
        job_id = await self.jobs.queue.submit(self.script())
        self.set_status(201)
        self.finish({"id": job_id})


class JobPreviewHandler(_JobsAPIHandler):
    """A dry run of a job script."""

    @for_the_user
    async def post(self) -> None:
        """Parse a script's options and run it through `sbatch --test-only`."""
        self.finish(asdict(await self.jobs.queue.preview(self.script())))


class JobHandler(_JobsAPIHandler):
    """One job."""

    @for_the_user
    async def post(self, job_id: str) -> None:
        """Hold, release or requeue it: `{"action": "release"}`; 204, or 404 as for `delete`.

        `{"action": "shorten", "hours": 0.5}` lowers its time limit.
        """
        action = parse_action(self.value("action"))
        if action is Action.SHORTEN:
            await self.jobs.queue.shorten(job_id, parse_hours(self.value("hours")))
        else:
            await self.jobs.queue.change(job_id, action)
        self.finish_empty()

    @for_the_user
    async def delete(self, job_id: str) -> None:
        """Cancel it: 204, or 404 if the user has no queued or running job with this id."""
        await self.jobs.queue.cancel(job_id)
        self.finish_empty()


class JobScriptHandler(_JobsAPIHandler):
    """The script of a job."""

    @for_the_user
    async def get(self, job_id: str) -> None:
        """Return its path from the root: `{"path": "folder/sample.job"}`."""
        path = await self.jobs.queue.find_script(job_id)
        if not path.is_relative_to(self.root):
            raise OptionsError(f"{path} is outside your files. Submit it in a terminal.")
        self.finish({"path": str(path.relative_to(self.root))})


class JobOutputHandler(_JobsAPIHandler):
    """The output of a job."""

    @for_the_user
    async def get(self, job_id: str) -> None:
        """Return a piece of the output from byte `offset` on; without an offset, its end."""
        self.finish(asdict(await self.jobs.queue.read_output(job_id, self.offset())))


class JobUsedHandler(_JobsAPIHandler):
    """What a job used of what it held."""

    @for_the_user
    async def get(self, job_id: str) -> None:
        """Return it in words, as `used`; empty if Slurm does not know."""
        self.finish({"used": await self.jobs.queue.read_used(job_id)})


class RunHandler(_JobsAPIHandler):
    """One run."""

    @for_the_user
    async def post(self, name: str) -> None:
        """Name it: `{"label": "first try"}`; 204."""
        self.jobs.runs.rename(name, self.value("label"))
        self.finish_empty()

    @for_the_user
    async def delete(self, name: str) -> None:
        """Remove its folder: 204, or 409 while it runs."""
        await self.jobs.runs.remove(name)
        self.finish_empty()


class RunStopHandler(_JobsAPIHandler):
    """The end of a run."""

    @for_the_user
    async def post(self, name: str) -> None:
        """Stop it: 204; its ranks end within some seconds."""
        await self.jobs.runs.stop(name)
        self.finish_empty()


class RunOutputHandler(_JobsAPIHandler):
    """The output of a run."""

    @for_the_user
    async def get(self, name: str) -> None:
        """Return a piece of what `rank` printed from byte `offset` on; without offset, its end."""
        rank = whole_number(self.get_query_argument("rank", ""), 0)
        self.finish(asdict(self.jobs.runs.read_output(name, rank, self.offset())))


class RunUsedHandler(_JobsAPIHandler):
    """What a run used of what it held."""

    @for_the_user
    async def get(self, name: str) -> None:
        """Return it in words, as `used`; empty if Slurm does not know."""
        self.finish({"used": await self.jobs.runs.read_used(name)})


def job_routes(jobs: JobList, root_dir: str) -> list[Any]:
    """Return the routes; `root_dir` is the folder at the top of the file browser."""
    shared = {"jobs": jobs, "root": Path(os.path.realpath(root_dir))}
    return [
        (r"/portal/api/jobs", JobsHandler, shared),
        (r"/portal/api/jobs/preview", JobPreviewHandler, shared),
        (r"/portal/api/jobs/([^/]+)", JobHandler, shared),
        (r"/portal/api/jobs/([^/]+)/output", JobOutputHandler, shared),
        (r"/portal/api/jobs/([^/]+)/script", JobScriptHandler, shared),
        (r"/portal/api/jobs/([^/]+)/used", JobUsedHandler, shared),
        (r"/portal/api/runs/([^/]+)", RunHandler, shared),
        (r"/portal/api/runs/([^/]+)/stop", RunStopHandler, shared),
        (r"/portal/api/runs/([^/]+)/output", RunOutputHandler, shared),
        (r"/portal/api/runs/([^/]+)/used", RunUsedHandler, shared),
    ]
