"""REST API `portal/api/jobs` and `portal/api/runs`: the user's jobs and runs.

A run is a training that `dsportal.run` started, in this session or as a job of its own.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler

from dsportal.slurm.errors import OptionsError
from portal.server.base.authorization import whole_number
from portal.server.base.rest import Answer, Route, body_value, route
from portal.server.jobs.job import Action, parse_action, parse_hours
from portal.server.jobs.listing import JobList
from portal.server.jobs.output_file import Output
from portal.server.jobs.queue import JobQueue
from portal.server.jobs.runs import Runs


def job_routes(jobs: JobList, root_dir: str) -> list[Route]:
    """Return the routes; `root_dir` is the folder at the top of the file browser."""
    queue, runs = jobs.queue, jobs.runs
    root = Path(os.path.realpath(root_dir))
    # A list that is open asks every few seconds.
    polled = partial(route, resource="jobs", is_polled=True)

    async def list_all(request: APIHandler) -> dict[str, Any]:
        if request.get_query_argument("measure", "") == "1":
            await runs.measure()
        return await jobs.as_json()

    async def submit(request: APIHandler) -> Answer:
        return Answer(201, {"id": await queue.submit(_script(request, root))})

    async def find_script(_: APIHandler, job_id: str) -> dict[str, str]:
        path = await queue.find_script(job_id)
        if not path.is_relative_to(root):
            raise OptionsError(f"{path} is outside your files. Submit it in a terminal.")
        return {"path": str(path.relative_to(root))}

    return [
        polled(r"/portal/api/jobs", get=list_all, post=submit),
        polled(r"/portal/api/jobs/preview", post=lambda r: queue.preview(_script(r, root))),
        polled(
            r"/portal/api/jobs/([^/]+)",
            post=partial(_change, queue),
            delete=lambda _, job_id: queue.cancel(job_id),
        ),
        polled(
            r"/portal/api/jobs/([^/]+)/output",
            get=lambda r, job_id: queue.read_output(job_id, _offset(r)),
        ),
        polled(r"/portal/api/jobs/([^/]+)/script", get=find_script),
        polled(r"/portal/api/jobs/([^/]+)/used", get=partial(_used, queue)),
        polled(
            r"/portal/api/runs/([^/]+)",
            post=lambda r, name: runs.rename(name, body_value(r, "label")),
            delete=lambda _, name: runs.remove(name),
        ),
        polled(r"/portal/api/runs/([^/]+)/stop", post=lambda _, name: runs.stop(name)),
        polled(r"/portal/api/runs/([^/]+)/output", get=partial(_run_output, runs)),
        polled(r"/portal/api/runs/([^/]+)/used", get=partial(_used, runs)),
    ]


async def _change(queue: JobQueue, request: APIHandler, job_id: str) -> None:
    action = parse_action(body_value(request, "action"))
    if action is Action.SHORTEN:
        await queue.shorten(job_id, parse_hours(body_value(request, "hours")))
    else:
        await queue.change(job_id, action)


async def _used(of: JobQueue | Runs, _: APIHandler, name: str) -> dict[str, str]:
    return {"used": await of.read_used(name)}


def _run_output(runs: Runs, request: APIHandler, name: str) -> Output:
    rank = whole_number(request.get_query_argument("rank", ""), 0)
    return runs.read_output(name, rank, _offset(request))


def _offset(request: APIHandler) -> int:
    # -1 for the end.
    return whole_number(request.get_query_argument("offset", ""), -1)


def _script(request: APIHandler, root: Path) -> Path:
    name = body_value(request, "path")
    if not isinstance(name, str) or not name or "\0" in name:
        raise OptionsError('Name the script to submit: {"path": "folder/sample.job"}.')
    # Lexical only: links, such as the one to the shared storage, may lead out of the root.
    path = Path(os.path.normpath(root / name))
    if not path.is_relative_to(root):
        raise OptionsError("The script is outside your files. Choose one in the file browser.")
    return path
