"""REST API of the GPUs of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError

from dsportal.slurm.errors import OptionsError
from portal.server.base.guest_rights import is_guest
from portal.server.base.rest import Answer, Route, route
from portal.server.kernel_jobs.asking import ask_for
from portal.server.kernel_jobs.follow_up import FollowUp
from portal.server.kernel_jobs.idle_gpus import IdleGpus
from portal.server.kernel_jobs.kernel_jobs import KernelJobs
from portal.server.kernel_jobs.request import GpuRequest, parse_request
from portal.settings.kernel_jobs import KernelJobSettings


def kernel_gpu_routes(
    jobs: KernelJobs, settings: KernelJobSettings, idle: IdleGpus, follow_up: FollowUp
) -> list[Route]:
    """Return the routes of the GPUs of kernels; a guest asks for none."""

    async def ask(request: APIHandler, kernel_id: str) -> Answer:
        _refuse_guest(request)
        wanted = _requested(request, settings)
        if kernel_id not in jobs.kernels:
            raise HTTPError(404, "This session has no such kernel.")
        return Answer(202, await ask_for(jobs, kernel_id, wanted))

    def cancel(request: APIHandler, kernel_id: str) -> None:
        _refuse_guest(request)
        jobs.cancel(kernel_id)

    async def forecast(request: APIHandler, kernel_id: str) -> dict[str, str]:
        _refuse_guest(request)
        return {"message": await jobs.forecast(kernel_id, _requested(request, settings))}

    async def save(request: APIHandler) -> dict[str, Any]:
        _refuse_guest(request)
        return {"words": await follow_up.save()}

    # A tab asks every few seconds, and a dialog with each change.
    return [
        _route(
            "kernels/([^/]+)/gpus",
            is_polled=True,
            get=lambda _, kernel_id: jobs.describe(kernel_id),
            post=ask,
            delete=cancel,
        ),
        _route("kernels/([^/]+)/gpus/forecast", is_polled=True, post=forecast),
        _route("kernel-gpus", get=lambda _: jobs.choices(settings)),
        _route("kernel-gpus/held", is_polled=True, get=lambda _: idle.list_held()),
        _route("kernel-gpus/follow-up", post=save),
    ]


def _route(pattern: str, *, is_polled: bool = False, **methods: Callable[..., Any]) -> Route:
    return route(rf"/portal/api/{pattern}", "kernels", is_polled=is_polled, **methods)


def _requested(request: APIHandler, settings: KernelJobSettings) -> GpuRequest:
    body = request.get_json_body()
    if not isinstance(body, dict):
        raise OptionsError("The body has to be an object with gpus and, if wanted, hours.")
    gpus, hours, variables = (body.get(name) for name in ("gpus", "hours", "variables"))
    return parse_request(gpus, hours, settings, variables=variables)


def _refuse_guest(request: APIHandler) -> None:
    if is_guest(request):
        raise HTTPError(403, "Only the owner of this session asks for GPUs in it.")
