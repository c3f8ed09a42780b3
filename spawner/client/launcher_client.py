"""Runs requests as a user, through the one program that sudo allows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherClient:
    """Client of the launcher, which runs under sudo.

    Attributes:
        launcher_argv: The launcher as the sudoers file names it.
        sudo_argv: sudo and its options, up to the user's name.
        cluster: Name of the cluster that requests are for; empty for the first one.
    """

    launcher_argv: Sequence[str]
    sudo_argv: Sequence[str]
    path: str
    cluster: str = ""

    async def order(self, user: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the launcher's answer, a JSON object, to a request that it runs as `user`.

        `request` is a JSON object with its "verb"; see `spawner.programs.launcher`.

        Raises:
            JobRejectedError: If sbatch refused a job.
            SlurmUnavailableError: If Slurm did not answer; the request may have been carried out.
            SlurmError: If it failed for another reason.
        """
        with timed_call(f"launcher {request['verb']}", self.cluster):
            answer = await self._ask(user, request)
            if not answer.get("ok"):
                raise self._failure(str(request["verb"]), answer)
            return answer

    async def ask(self, user: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the launcher's answer, a JSON object with "ok", even if the `request` failed."""
        with timed_call(f"launcher {request['verb']}", self.cluster):
            return await self._ask(user, request)

    def _failure(self, verb: str, answer: Mapping[str, Any]) -> SlurmError:
        exit_code, stderr = answer.get("exit_code"), str(answer.get("stderr", ""))
        argv = (*self.launcher_argv, verb)
        # The launcher's own refusal, which says nothing about Slurm.
        if stderr.startswith(_ITS_OWN_WORDS):
            return SlurmError(
                "The portal's launcher on the head node failed: "
                f"{stderr.removeprefix(_ITS_OWN_WORDS)}. Tell the administrators.",
                argv=argv,
                exit_code=exit_code,
                stderr=stderr,
            )
        # Only if sbatch itself refused: without an answer the job may have been accepted.
        if verb in _SUBMITTING and exit_code is not None and not is_no_answer(stderr):
            return JobRejectedError(
                str(explain_rejection(stderr)), argv=argv, exit_code=exit_code, stderr=stderr
            )
        return make_error(argv, exit_code, stderr)

    async def _ask(self, user: str, request: Mapping[str, Any]) -> dict[str, Any]:
        argv = (*self.sudo_argv, user, *self.launcher_argv)
        cluster = {"cluster": self.cluster} if self.cluster else {}
        done = await run_command(
            argv,
            timeout_s=TIMEOUT_S,
            path=self.path,
            stdin=json.dumps({**request, **cluster}),
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
