"""REST API `portal/api/jobs`: list, preview, submit, cancel and read the user's Slurm jobs."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from jupyter_server.base.handlers import APIHandler

from dsportal.slurm.errors import PortalError
from portal.server.base.authorization import for_the_user
from portal.server.base.errors import JobError
from portal.server.jobs.queue import JobQueue

T = TypeVar("T")


class _JobsAPIHandler(APIHandler):
    auth_resource = "jobs"

    def initialize(self, queue: JobQueue, root_dir: str) -> None:
        """Store the arguments of the route."""
        self.queue = queue
        self.root = Path(os.path.realpath(root_dir))

    async def await_result(self, work: Awaitable[T]) -> T | None:
        """Await `work`; answer its error with status and message, and return None then."""
        try:
            return await work
        except PortalError as error:
            self.log.warning("%s", error)
            self.set_status(error.http_status)
            self.finish({"message": error.message})
            return None

    def script(self) -> Path:
        """Return the script that the request body names, as a path below the file browser's root.

        Raises:
            JobError: If the body names no path, or one outside the root.
        """
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
        jobs = await self.await_result(self.queue.list_jobs())
        if jobs is not None:
            self.finish(json.dumps([job.as_json() for job in jobs]))

    @for_the_user
    async def post(self) -> None:
        """Submit a script.

        Source:
            `{"path": "path/from/root"}`; 201 and `{"id": "12"}`, or an error's status and
            `{"message": sentence}`.
        """

        async def submit() -> str:
            return await self.queue.submit(self.script())

        job_id = await self.await_result(submit())
        if job_id is not None:
            self.set_status(201)
            self.finish({"id": job_id})


class JobPreviewHandler(_JobsAPIHandler):
    """A dry run of a job script."""

    @for_the_user
    async def post(self) -> None:
        """Parse a script's options and run it through `sbatch --test-only`."""

        async def preview() -> object:
            return asdict(await self.queue.preview(self.script()))

        found = await self.await_result(preview())
        if found is not None:
            self.finish(json.dumps(found))


class JobHandler(_JobsAPIHandler):
    """One job."""

    @for_the_user
    async def delete(self, job_id: str) -> None:
        """Cancel it: 204, or 404 if the user has no queued or running job with this id."""

        async def cancel() -> bool:
            await self.queue.cancel(job_id)
            # await_result() answers None for a failure, so success must be something else.
            return True

        if await self.await_result(cancel()):
            self.set_status(204)
            self.finish()


class JobOutputHandler(_JobsAPIHandler):
    """The output of a job."""

    @for_the_user
    async def get(self, job_id: str) -> None:
        """Return a piece of the output from byte `offset` on; without an offset, its end."""
        text = self.get_argument("offset", "-1")
        # isdigit() also accepts characters such as ², at which int() fails.
        offset = int(text) if text.isascii() and text.isdigit() else -1
        output = await self.await_result(self.queue.read_output(job_id, offset))
        if output is not None:
            self.finish(json.dumps(asdict(output)))


def job_routes(queue: JobQueue, root_dir: str) -> list[Any]:
    """Return the routes; `root_dir` is the folder at the top of the file browser."""
    jobs = {"queue": queue, "root_dir": root_dir}
    return [
        (r"/portal/api/jobs", JobsHandler, jobs),
        (r"/portal/api/jobs/preview", JobPreviewHandler, jobs),
        (r"/portal/api/jobs/([^/]+)", JobHandler, jobs),
        (r"/portal/api/jobs/([^/]+)/output", JobOutputHandler, jobs),
    ]
