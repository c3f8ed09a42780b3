"""The commands of `dsportal` for the session that they run in, and for its user's jobs."""

import argparse
import http.client
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dsportal.laptop.cli import add_logs_arguments
from dsportal.laptop.completion import completion
from dsportal.laptop.host import LaptopError
from dsportal.laptop.verbs import answer, describe_end, show_jobs, show_logs
from dsportal.session_socket import VARIABLE, ask
from dsportal.slurm.errors import PortalError
from portal.confirmation import Commands, add_yes, confirm


def add_commands(commands: Commands, parser: argparse.ArgumentParser) -> None:
    """Add `extend`, `stop`, `jobs`, `logs` and `completion` to `commands` of `parser`."""
    extend = commands.add_parser("extend", help="give this session more time, by the site's step")
    extend.set_defaults(run=extend_session)
    stop = commands.add_parser("stop", help="end this session")
    add_yes(stop)
    stop.set_defaults(run=stop_session)
    jobs = commands.add_parser("jobs", help="list your Slurm jobs and runs")
    jobs.set_defaults(run=list_jobs)
    logs = commands.add_parser("logs", help="show the output of a job or a run")
    add_logs_arguments(logs)
    logs.set_defaults(run=show_output)
    for command in (extend, stop, jobs, logs):
        command.add_argument("--json", dest="is_json", action="store_true", help="answer as JSON")
    words = commands.add_parser("completion", help="print what completes words in bash and zsh")
    words.set_defaults(run=lambda _: print(completion(parser), end="") or 0)


def extend_session(arguments: argparse.Namespace) -> int:
    """Give this session more time."""
    told = _ask("POST", "/session/extension")
    answer(arguments, told, describe_end(told))
    return 0


def stop_session(arguments: argparse.Namespace) -> int:
    """End this session."""
    confirm("End this session, with all that runs in it", yes=arguments.yes)
    _ask("DELETE", "/session")
    answer(arguments, {"state": "stops"}, "Your session stops.")
    return 0


def list_jobs(arguments: argparse.Namespace) -> int:
    """List jobs and runs."""
    show_jobs(arguments, _OwnWork())
    return 0


def show_output(arguments: argparse.Namespace) -> int:
    """Show the output of a job or a run."""
    try:
        show_logs(arguments, _OwnWork())
    except LaptopError as error:
        raise PortalError(str(error)) from error
    return 0


class _OwnWork:
    """Asks Slurm, and the folders of runs."""

    def __init__(self) -> None:
        # The head node's environment has no session, and other commands need no loop.
        from asyncio import run

        from portal.server.jobs.listing import JobList
        from portal.server.jobs.queue import JobQueue
        from portal.server.jobs.runs import Runs

        self._run = run
        queue = JobQueue(os.environ.get("SLURM_JOB_ID", ""), Path.home())
        self._jobs = JobList(queue, Runs(Path.home(), queue))

    def list_work(self) -> dict[str, Any]:
        told: dict[str, Any] = self._run(self._jobs.as_json())
        return told

    def read_output(self, job: str, run: str, offset: int) -> dict[str, Any]:
        if run:
            return asdict(self._jobs.runs.read_output(run, 0, offset))
        return asdict(self._run(self._jobs.queue.read_output(job, offset)))


def _ask(method: str, path: str) -> Any:
    """Return the JSON that the session's notebook server answers."""
    socket_path = os.environ.get(VARIABLE, "")
    if not socket_path:
        raise PortalError(
            "This is no session of the portal. Run it in a notebook or a terminal of one."
        )
    try:
        status, told = ask(socket_path, method, path)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise PortalError(
            f"The notebook server of this session gave no answer ({error}). Try again."
        ) from error
    if status >= http.client.BAD_REQUEST:
        raise PortalError(str(told["message"]))
    return told
