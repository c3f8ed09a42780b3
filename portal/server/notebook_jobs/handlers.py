"""REST APIs `portal/api/notebook-jobs` and `portal/api/sweeps`: notebooks as jobs."""

import asyncio
import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler

from dsportal.amounts import DEFAULT_HOURS, SECONDS_PER_HOUR
from dsportal.slurm.errors import OptionsError
from dsportal.task.folders import parent_folder
from portal.server.base.authorization import whole_number
from portal.server.base.budget import job_name_of, read_charged
from portal.server.base.rest import Answer, Route, route
from portal.server.notebook_jobs.order import former_order, parse_order, sweep_arguments

TIMEOUT_S = 60
_COMMAND = ("-P", "-c", "import sys; from portal.cli import user_main; sys.exit(user_main())")


def notebook_routes(root_dir: str) -> list[Route]:
    """Return the routes; `root_dir` is the folder at the top of the file browser."""
    root = Path(os.path.realpath(root_dir))

    async def ask(request: APIHandler, *actions: str) -> dict[str, str]:
        order = parse_order(request.request.body, root)
        return {"message": await run_dsportal(order.words(*actions))}

    async def submit(request: APIHandler) -> Answer:
        return Answer(201, await ask(request))

    async def submit_sweep(request: APIHandler) -> Answer:
        told = await run_dsportal(sweep_arguments(request.request.body, root))
        return Answer(201, json.loads(told))

    # A form asks with each change, and who follows a sweep every few seconds.
    polled = partial(route, resource="jobs", is_polled=True)
    return [
        route(r"/portal/api/notebook-jobs", "jobs", get=partial(_describe_form, root), post=submit),
        polled(r"/portal/api/notebook-jobs/forecast", post=lambda r: ask(r, "--forecast")),
        polled(
            r"/portal/api/sweeps",
            get=partial(_ask_sweep, "show"),
            post=submit_sweep,
            delete=partial(_ask_sweep, "stop"),
        ),
    ]


async def _describe_form(root: Path, request: APIHandler) -> dict[str, Any]:
    n_gpus = whole_number(os.environ.get("PORTAL_N_GPUS", ""), 1)
    walltime_s = whole_number(os.environ.get("PORTAL_WALLTIME_S", ""), 0)
    # The length of a session may not be known.
    hours = round(walltime_s / SECONDS_PER_HOUR, 2) or DEFAULT_HOURS
    size = {"gpus": max(1, n_gpus), "nodes": 1, "hours": hours}
    run = request.get_query_argument("run", "")
    former = former_order(run, parent_folder(), root) if run else {}
    size |= former.pop("size", {})
    charged = await read_charged(os.environ, job_name_of(os.environ, "SLURM_JOB_PARTITION"))
    return {
        **{"size": size, "budget": charged.left, "clock": time.strftime("%H:%M %Z")},
        # Only where the site sends mail itself; Slurm does not say whether it does.
        "mail": os.environ.get("PORTAL_MAIL_ADDRESS", ""),
        **former,
    }


async def _ask_sweep(verb: str, request: APIHandler) -> Any:
    name = request.get_query_argument("name", "")
    # Not an option of the command.
    if name.startswith("-") or "\0" in name:
        raise OptionsError(f"There is no sweep {name!r:.80}.")
    return json.loads(await run_dsportal(["sweep", verb, "--json", *([name] if name else [])]))


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
        # Of wrong words the command says first how to use it.
        words = said.decode(errors="replace").rpartition(": error: ")[2].strip()
        words = words.removeprefix("dsportal: ")
        raise OptionsError(words or "dsportal has failed, and nothing said why. Try again.")
    return printed.decode(errors="replace").strip()
