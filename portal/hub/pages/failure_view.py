"""Data of a failed start or an ended session: cause, next step, options to retry with."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from dsportal.slurm.errors import PortalError
from dsportal.slurm.states import JobState
from spawner.hub.session_mixin import SessionMixin
from spawner.options.retry_options import RetryOptions, correct
from spawner.session.session_end import JobEndedError
from spawner.session.spawn_error import StartFailedError
from spawner.slurm.jobs import JobEnd

_EXPECTED = frozenset({
    JobState.TIMEOUT,
    JobState.COMPLETED,
    JobState.COMPLETING,
    JobState.STAGE_OUT,
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureView:
    """One failed start, or one session that ended without being stopped in the portal.

    Attributes:
        next_step: What to do; empty if `sentence` says it.
        facts: Slurm's state, exit code, node, job and its use, as known, by name.
        log_lines: End of the job's log, secrets removed; may be empty.
        options: Options of the failed request, to send again.
        correction: Options that avoid the failure, if the diagnosis has some.
        is_expected: It ended as sessions do, at its time limit or by itself.
        needs_help: The next step is to talk to the administrators, so to try again is not.
        at: Time when it was noticed, in seconds since 1970 (UTC); None for a failed start.
    """

    sentence: str
    next_step: str
    facts: tuple[tuple[str, str], ...]
    log_lines: str
    options: Mapping[str, str]
    correction: RetryOptions | None
    is_expected: bool = False
    needs_help: bool = False
    at: float | None = None

    @property
    def correction_query(self) -> str:
        """The corrected options as the query of a link to the form."""
        return urlencode(self.correction.options) if self.correction else ""


def describe_failure(exception: BaseException | None, spawner: SessionMixin) -> FailureView | None:
    """Return why a start of a spawner failed.

    Returns:
        None if the failure is not one of a session; then only JupyterHub's message is known.
    """
    if not isinstance(exception, StartFailedError):
        return None
    return _describe(exception.error, exception.log_lines, spawner)


def describe_ending(spawner: SessionMixin) -> FailureView | None:
    """Return why the last session of a spawner ended.

    Returns:
        None if there was none, or it was stopped in the portal.
    """
    ending = spawner.ending
    if ending is None:
        return None
    return _describe(ending.error, ending.log_lines, spawner, at=ending.at, used=ending.used)


def _describe(
    error: PortalError,
    log_lines: str,
    spawner: SessionMixin,
    *,
    at: float | None = None,
    used: str = "",
) -> FailureView:
    # Other errors have no end of a job, and their message no separate next step.
    ended = error if isinstance(error, JobEndedError) else JobEndedError(error.message)
    is_expected = at is not None and ended.end is not None and ended.end.state in _EXPECTED
    options = {name: str(value) for name, value in spawner.user_options.items()}
    return FailureView(
        # The message ends with the next step, which the page shows apart.
        sentence=ended.message.removesuffix(ended.next_step).rstrip(),
        next_step=ended.next_step,
        facts=(
            *_facts(ended.end, ended.job_id, is_expected=is_expected),
            *([("Use", used)] if used else []),
        ),
        log_lines=log_lines,
        options=options,
        correction=_correct(error, options, getattr(spawner, "most_gpus", None)),
        is_expected=is_expected,
        needs_help=ended.next_step.startswith(("Ask ", "Tell ")),
        at=at,
    )


def _correct(
    error: PortalError, options: Mapping[str, str], most_gpus: int | None
) -> RetryOptions | None:
    if getattr(error, "needs_rescue", False):
        return RetryOptions(words="with a rescue session", options={"rescue": "1"})
    if isinstance(error, JobEndedError) and error.end is not None:
        return correct(options, error.end, most_gpus=most_gpus)
    return None


def _facts(end: JobEnd | None, job_id: int, *, is_expected: bool) -> list[tuple[str, str]]:
    facts = []
    # The sentence says all of a normal end, in which "Signal 9" would look like a fault.
    if end is not None and not is_expected:
        facts.append(("State in Slurm", end.state.name))
        if end.signal:
            facts.append(("Signal", str(end.signal)))
        elif end.exit_code:
            facts.append(("Exit code", str(end.exit_code)))
    if end is not None and end.node:
        facts.append(("Node", end.node))
    if job_id:
        facts.append(("Slurm job", str(job_id)))
    return facts
