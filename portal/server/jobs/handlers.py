"""REST API `portal/api/jobs`: list, preview, submit, cancel and read the user's Slurm jobs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler

from portal.server.base.authorization import for_the_user, whole_number
from portal.server.base.errors import JobError
from portal.server.jobs.queue import JobQueue


class _JobsAPIHandler(APIHandler):
    auth_resource = "jobs"

    def initialize(self, queue: JobQueue, root_dir: str) -> None:
        """Store the arguments of the route."""
        self.queue = queue
        self.root = Path(os.path.realpath(root_dir))

    def script(self) -> Path:
        """Return the script that the request names, as a path below the file browser's root."""
        try:
            name = json.loads(self.request.body)["path"]
        except (ValueError, KeyError, TypeError):
            name = None
        if not isinstance(name, str) or not name or "\0" in name:
            raise JobError('Name the script to submit: {"path": "folder/sample.job"}.')
        # Lexical only: links, such as the one to the shared storage, may lead out of the root.
        path = Path(os.path.normpath(self.root / name))
        if not path.is_relative_to(self.root):
            raise JobError("The script is outside your files. Choose one in the file browser.")
        return path


class JobsHandler(_JobsAPIHandler):
    """The user's jobs."""

    @for_the_user
    async def get(self) -> None:
        """List them."""
        self.finish(json.dumps([job.as_json() for job in await self.queue.list_jobs()]))

    @for_the_user
    async def post(self) -> None:
        """Submit a script.

        Source:
            `{"path": "path/from/root"}`; 201 and `{"id": "12"}`, or an error's status and
            `{"message": sentence}`.
        """
        job_id = await self.queue.submit(self.script())
        self.set_status(201)
        self.finish({"id": job_id})


class JobPreviewHandler(_JobsAPIHandler):
    """A dry run of a job script."""

    @for_the_user
    async def post(self) -> None:
        """Parse a script's options and run it through `sbatch --test-only`."""
        self.finish(asdict(await self.queue.preview(self.script())))


class JobHandler(_JobsAPIHandler):
    """One job."""

    @for_the_user
    async def delete(self, job_id: str) -> None:
        """Cancel it: 204, or 404 if the user has no queued or running job with this id."""
        await self.queue.cancel(job_id)
        self.set_status(204)
        self.finish()


class JobOutputHandler(_JobsAPIHandler):
    """The output of a job."""

    @for_the_user
    async def get(self, job_id: str) -> None:
        """Return a piece of the output from byte `offset` on; without an offset, its end."""
        offset = whole_number(self.get_argument("offset", ""), -1)
        self.finish(asdict(await self.queue.read_output(job_id, offset)))


def job_routes(queue: JobQueue, root_dir: str) -> list[Any]:
    """Return the routes; `root_dir` is the folder at the top of the file browser."""
    jobs = {"queue": queue, "root_dir": root_dir}
    return [
        (r"/portal/api/jobs", JobsHandler, jobs),
        (r"/portal/api/jobs/preview", JobPreviewHandler, jobs),
        (r"/portal/api/jobs/([^/]+)", JobHandler, jobs),
        (r"/portal/api/jobs/([^/]+)/output", JobOutputHandler, jobs),
    ]
