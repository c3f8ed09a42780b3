"""REST API of the GPUs of a kernel."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError

from dsportal.slurm.errors import OptionsError, PortalError
from portal.server.base.authorization import for_the_user
from portal.server.base.guest_rights import is_guest
from portal.server.kernel_jobs.follow_up import FollowUp
from portal.server.kernel_jobs.idle_gpus import IdleGpus
from portal.server.kernel_jobs.kernel_jobs import KernelJobs
from portal.server.kernel_jobs.request import GpuRequest, parse_request
from portal.settings.kernel_jobs import KernelJobSettings


class _GpusHandler(APIHandler):
    auth_resource = "kernels"

    def initialize(self, jobs: KernelJobs, settings: KernelJobSettings) -> None:
        """Store the arguments of the route."""
        self.jobs = jobs
        self.site = settings


class KernelGpusHandler(_GpusHandler):
    """The GPUs of one kernel."""

    # A tab asks every few seconds, which must not count as activity.
    _track_activity = False

    @for_the_user
    async def get(self, kernel_id: str) -> None:
        """Describe them; see `KernelJobs.describe`."""
        self.finish(json.dumps(self.jobs.describe(kernel_id)))

    @for_the_user
    async def post(self, kernel_id: str) -> None:
        """Ask for `gpus` for `hours`: 202; how it goes on is in the description.

        `variables` is "always" or "never"; without it the user's setting counts.
        """
        _refuse_guest(self)
        request = _requested(self, self.site)
        if kernel_id not in self.jobs.kernels:
            raise HTTPError(404, "This session has no such kernel.")
        task = asyncio.create_task(self.jobs.change(kernel_id, request))
        task.add_done_callback(_heard)
        # A refusal that is known at once is the answer.
        await asyncio.sleep(0)
        if task.done() and (error := task.exception()) is not None:
            raise error
        self.set_status(202)
        self.finish(json.dumps(self.jobs.describe(kernel_id)))

    @for_the_user
    async def delete(self, kernel_id: str) -> None:
        """Cancel what the kernel waits for: 204."""
        _refuse_guest(self)
        self.jobs.cancel(kernel_id)
        self.set_status(204)
        self.finish()


class ForecastHandler(_GpusHandler):
    """When a kernel would have GPUs."""

    # A dialog asks with each change, which must not count as activity.
    _track_activity = False

    @for_the_user
    async def post(self, kernel_id: str) -> None:
        """Ask Slurm; nothing is queued: 200 and `{"message": sentence}`, or why it is refused."""
        _refuse_guest(self)
        request = _requested(self, self.site)
        self.finish({"message": await self.jobs.forecast(kernel_id, request)})


class FollowUpHandler(APIHandler):
    """The session that follows this one."""

    auth_resource = "kernels"

    def initialize(self, follow_up: FollowUp) -> None:
        """Store the argument of the route."""
        self.follow_up = follow_up

    @for_the_user
    async def post(self) -> None:
        """Save the variables of all notebooks for it: 200, and `words` for each."""
        _refuse_guest(self)
        self.finish(json.dumps({"words": await self.follow_up.save()}))


class GpuChoicesHandler(_GpusHandler):
    """What the dialog of the button offers."""

    @for_the_user
    async def get(self) -> None:
        """List them; see `KernelJobs.choices`."""
        self.finish(json.dumps(await self.jobs.choices(self.site)))


class HeldGpusHandler(APIHandler):
    """The GPUs of all kernels of the session."""

    auth_resource = "kernels"
    _track_activity = False

    def initialize(self, idle: IdleGpus) -> None:
        """Store the argument of the route."""
        self.idle = idle

    @for_the_user
    async def get(self) -> None:
        """List them; see `IdleGpus.list_held`."""
        self.finish(json.dumps(await self.idle.list_held()))


def _requested(handler: APIHandler, settings: KernelJobSettings) -> GpuRequest:
    body = handler.get_json_body()
    if not isinstance(body, dict):
        raise OptionsError("The body has to be an object with gpus and, if wanted, hours.")
    gpus, hours, variables = (body.get(name) for name in ("gpus", "hours", "variables"))
    return parse_request(gpus, hours, settings, variables=variables)


def _refuse_guest(handler: APIHandler) -> None:
    if is_guest(handler):
        raise HTTPError(403, "Only the owner of this session asks for GPUs in it.")


def _heard(task: asyncio.Task[Any]) -> None:
    # The description has the words.
    if not task.cancelled() and not isinstance(task.exception(), PortalError | None):
        task.result()
