"""The commands of `dsportal` for the session that they run in, and for its user's other work.

Those that a laptop has, too, are its own, with a portal that is asked by way of the session.
"""

import argparse
import http.client
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dsportal.laptop import verbs
from dsportal.laptop.cli import add_shared
from dsportal.laptop.completion import completion
from dsportal.laptop.host import Host, LaptopError
from dsportal.laptop.rest import Portal, UnreachableError, refusal
from dsportal.session_socket import VARIABLE, open_answer
from dsportal.slurm.errors import PortalError
from portal.confirmation import Commands, add_yes, confirm

_Run = Callable[[argparse.Namespace], int | None]
_PATIENCE_S = 60.0


def add_commands(commands: Commands, parser: argparse.ArgumentParser) -> None:
    """Add the commands to those of `parser`."""

    def add(run: _Run, text: str, word: str = "") -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = commands.add_parser(word or run.__name__, help=text)
        command.set_defaults(run=_OWN.get(run, run), portal=lambda _: own_portal())
        return command

    add_shared(add, is_own=True)
    extend = add(extend_session, "give this session more time, by the site's step", "extend")
    stop = add(stop_session, "end this session", "stop")
    add_yes(stop)
    for command in (extend, stop):
        command.add_argument("--json", dest="is_json", action="store_true", help="answer as JSON")
    words = commands.add_parser("completion", help="print what completes words in bash and zsh")
    words.set_defaults(run=lambda _: print(completion(parser), end="") or 0)


def extend_session(arguments: argparse.Namespace) -> None:
    """Give this session more time."""
    told = own_portal().ask("POST", "session/extension")
    verbs.answer(arguments, told, verbs.describe_end(told))


def stop_session(arguments: argparse.Namespace) -> None:
    """End this session."""
    confirm("End this session, with all that runs in it", yes=arguments.yes)
    own_portal().ask("DELETE", "session")
    verbs.answer(arguments, {"state": "stops"}, "Your session stops.")


def list_jobs(arguments: argparse.Namespace) -> None:
    """List jobs and runs."""
    verbs.show_jobs(arguments, _OwnWork())


def show_output(arguments: argparse.Namespace) -> None:
    """Show the output of a job or a run."""
    verbs.show_logs(arguments, _OwnWork())


def change_gpus(arguments: argparse.Namespace) -> None:
    """Show or change the GPUs of a kernel."""
    from portal.server.kernel_jobs import letters

    if folder := os.environ.get(letters.VARIABLE):
        question = {"gpus": arguments.gpus, "hours": arguments.hours}
        verbs.show_gpus(arguments, [letters.ask(Path(folder), question)])
    else:
        verbs.gpu(arguments, os.environ.get(letters.KERNEL_ID, ""))


# The first two need no server, so that jobs have them, too.
_OWN: Mapping[_Run, _Run] = {
    verbs.jobs: list_jobs,
    verbs.logs: show_output,
    verbs.gpu: change_gpus,
}


@dataclass(frozen=True)
class OwnPortal(Portal):
    """The portal, asked by this session's notebook server, which has a token.

    Attributes:
        socket_path: Where the server listens to its user alone.
    """

    socket_path: str

    def me(self) -> dict[str, Any]:
        """Return the hub's JSON about the user."""
        user = super().me()
        if "servers" not in user:
            raise LaptopError("This session may not see your sessions. A new one may: restart it.")
        return user

    def _open(
        self, method: str, path: str, body: object, timeout_s: float
    ) -> http.client.HTTPResponse:
        try:
            # The server itself gives up what the hub does not answer.
            patience_s = max(timeout_s, _PATIENCE_S)
            answer = open_answer(self.socket_path, method, f"/{path}", body, patience_s)
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(
                f"The notebook server of this session gave no answer ({error}). Try again."
            ) from error
        if answer.status >= http.client.BAD_REQUEST:
            with answer:
                raise refusal("The session", answer.status, answer.read())
        return answer


def own_portal() -> OwnPortal:
    """Return the portal of the session that this runs in."""
    socket_path = os.environ.get(VARIABLE, "")
    if not socket_path:
        raise LaptopError(
            "This is no session of the portal. Run it in a notebook or a terminal of one."
        )
    # Without it addresses have no host.
    url = os.environ.get("JUPYTERHUB_PUBLIC_HUB_URL", "").rstrip("/").removesuffix("/hub")
    host = Host("", url, os.environ.get("JUPYTERHUB_SERVER_NAME", ""))
    return OwnPortal(host, token="", socket_path=socket_path)


class _OwnWork:
    """Asks Slurm, and the folders of runs."""

    def __init__(self) -> None:
        # The head node's environment has no session, and other commands need no loop.
        from asyncio import run

        from portal.server.jobs.listing import JobList
        from portal.server.jobs.queue import JobQueue
        from portal.server.jobs.runs import Runs
        from spawner.session_settings import OTHER_CLUSTERS

        self._run = run
        queue = JobQueue(os.environ.get("SLURM_JOB_ID", ""), Path.home())
        self._jobs = JobList(
            queue,
            Runs(Path.home(), queue),
            read_places,
            read_elsewhere,
            os.environ.get(OTHER_CLUSTERS, ""),
        )

    def list_work(self) -> dict[str, Any]:
        told: dict[str, Any] = self._run(self._jobs.as_json())
        return told

    def read_output(self, job: str, run: str, offset: int) -> dict[str, Any]:
        if run:
            return asdict(self._jobs.runs.read_output(run, 0, offset))
        return asdict(self._run(self._jobs.queue.read_output(job, offset)))


async def read_places(job_ids: Sequence[int]) -> Mapping[int, str]:
    """Return the places in the queue of jobs that wait, in words, as far as they are known."""
    jobs = "&".join(f"job={job_id}" for job_id in job_ids)
    # Slurm may show its users their own jobs alone.
    with suppress(LaptopError):
        told = own_portal().ask("GET", f"hub/api/dsportal/session?{jobs}")
        return {int(job_id): str(place) for job_id, place in told["places"].items()}
    return {}


async def read_elsewhere() -> Sequence[Mapping[str, Any]]:
    """Return what the hub says of the user's jobs on other clusters."""
    try:
        told = own_portal().ask("GET", "hub/api/dsportal/session?elsewhere=1")
    except LaptopError as error:
        raise PortalError(str(error)) from error
    return list(told.get("elsewhere", ()))
