"""Runs requests as a user, through the one program that sudo allows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dsportal.diagnosis import explain_rejection
from dsportal.slurm.no_answer import is_no_answer
from spawner.client.command import make_error, run_command
from spawner.errors import JobRejectedError, SlurmError
from spawner.metrics import timed_call

# The launcher gives up on Slurm after 15 s by itself; only a hanging sudo takes longer.
TIMEOUT_S = 25.0

_ITS_OWN_WORDS = "dsportal-launcher: "
_SUBMITTING = frozenset({"submit", "forecast"})


class LauncherClient:
    """Client of the launcher, which runs under sudo.

    Args:
        launcher_argv: The launcher as the sudoers file names it.
        sudo_argv: sudo and its options, up to the user's name.
        cluster: Name of the cluster that requests are for; empty for the first one.
    """

    def __init__(
        self,
        *,
        launcher_argv: Sequence[str],
        sudo_argv: Sequence[str],
        path: str,
        cluster: str = "",
    ) -> None:
        self._cluster: dict[str, str] = {"cluster": cluster} if cluster else {}
        self._launcher_argv = tuple(launcher_argv)
        self._sudo_argv = tuple(sudo_argv)
        self._path = path

    async def order(self, user: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the launcher's answer, a JSON object, to a request that it runs as `user`.

        `request` is a JSON object with its "verb"; see `spawner.programs.launcher`.

        Raises:
            JobRejectedError: If sbatch refused a job.
            SlurmUnavailableError: If Slurm did not answer; the request may have been carried out.
            SlurmError: If it failed for another reason.
        """
        with timed_call(_request_name(request), self._cluster.get("cluster", "")):
            return await self._order(user, request)

    async def ask(self, user: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the launcher's answer, a JSON object with "ok", even if the `request` failed."""
        with timed_call(_request_name(request), self._cluster.get("cluster", "")):
            return await self._ask(user, request)

    async def _order(self, user: str, request: Mapping[str, Any]) -> dict[str, Any]:
        answer = await self._ask(user, request)
        if answer.get("ok"):
            return answer
        exit_code, stderr = answer.get("exit_code"), str(answer.get("stderr", ""))
        argv = (*self._launcher_argv, str(request["verb"]))
        # The launcher's own refusal, which says nothing about Slurm.
        if stderr.startswith(_ITS_OWN_WORDS):
            raise SlurmError(
                "The portal's launcher on the head node failed: "
                f"{stderr.removeprefix(_ITS_OWN_WORDS)}. Tell the administrators.",
                argv=argv,
                exit_code=exit_code,
                stderr=stderr,
            )
        error = make_error(argv, exit_code, stderr)
        # Only if sbatch itself refused: without an answer the job may have been accepted.
        if request["verb"] in _SUBMITTING and exit_code is not None and not is_no_answer(stderr):
            error = JobRejectedError(
                str(explain_rejection(stderr)), argv=argv, exit_code=exit_code, stderr=stderr
            )
        raise error

    async def _ask(self, user: str, request: Mapping[str, Any]) -> dict[str, Any]:
        argv = (*self._sudo_argv, user, *self._launcher_argv)
        done = await run_command(
            argv,
            timeout_s=TIMEOUT_S,
            path=self._path,
            stdin=json.dumps({**request, **self._cluster}),
        )
        try:
            answer = json.loads(done.stdout)
        # sudo refused, or the launcher could not be started: neither prints JSON.
        except ValueError as error:
            raise SlurmError(
                f"The portal could not act as the user {user} on the head node. "
                "Tell the administrators. The hub's log says more.",
                argv=argv,
                exit_code=done.exit_code,
                stderr=done.stderr,
            ) from error
        return dict(answer)


def _request_name(request: Mapping[str, Any]) -> str:
    return f"launcher {request['verb']}"
