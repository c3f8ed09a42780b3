"""Why a used session ended, kept until the next start so that its user learns it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from dsportal.slurm.errors import PortalError
from dsportal.slurm.states import JobState
from spawner.slurm.jobs import JobEnd

_STATE_KEY = "ending"
_IDLE = "The session was stopped because it was idle for longer than this site allows."
_AGAIN = "Start a new session when you need one. Your open notebooks were saved."
_REQUEUED = (
    "Slurm took the session's job off its node and put it back into the queue, which ended its "
    "notebook server and kernels."
)
_SECOND_SERVER = (
    "A second notebook server reported to the hub as this session's, as one does when Slurm starts "
    "its job again. The first one and its kernels were ended."
)
_START_NEW = "Start a new session. Your saved files are kept."


class JobEndedError(PortalError):
    """The job ended before its notebook server answered.

    Args:
        next_step: The part of the message that says what to do; may be empty.
        needs_rescue: Whether the user's own files may be why, so that only a session that reads
            none of them starts.
    """

    def __init__(
        self,
        message: str,
        *,
        next_step: str = "",
        end: JobEnd | None = None,
        job_id: int = 0,
        needs_rescue: bool = False,
    ) -> None:
        super().__init__(message)
        self.needs_rescue = needs_rescue
        self.next_step = next_step
        self.end = end
        self.job_id = job_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """The end of a session that its user did not stop.

    Attributes:
        at: When it was noticed, in seconds since 1970 (UTC).
        error: One sentence and one next step.
        log_lines: The end of the job's log, without secrets; may be empty.
        used: What the job used of what it held, in sentences; may be empty.
        may_run: Whether its job could not be cancelled; not saved.
    """

    at: float
    error: JobEndedError
    log_lines: str = ""
    used: str = ""
    may_run: bool = False

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> SessionEnd | None:
        """Return the ending in a saved state, or None if it holds none.

        Args:
            state: JSON values that `to_state` returned, in this or another release.
        """
        saved = state.get(_STATE_KEY)
        if not isinstance(saved, Mapping):
            return None
        error = JobEndedError(
            saved.get("message", ""),
            next_step=saved.get("next_step", ""),
            end=_read_end(saved["end"]) if saved.get("end") else None,
            job_id=saved.get("job_id", 0),
        )
        return cls(
            at=saved.get("at", 0.0),
            error=error,
            log_lines=saved.get("log_lines", ""),
            used=saved.get("used", ""),
        )

    @classmethod
    def of_idle(cls, job_id: int) -> SessionEnd:
        """Return the ending, now, of a session that nobody used."""
        error = JobEndedError(f"{_IDLE} {_AGAIN}", next_step=_AGAIN, job_id=job_id)
        return cls(at=time.time(), error=error)

    @classmethod
    def of_requeue(cls, job_id: int) -> SessionEnd:
        """Return the ending, now, of a session whose job Slurm has put back into the queue."""
        error = JobEndedError(f"{_REQUEUED} {_START_NEW}", next_step=_START_NEW, job_id=job_id)
        return cls(at=time.time(), error=error)

    @classmethod
    def of_second_server(cls, job_id: int) -> SessionEnd:
        """Return the ending, now, of a session for which another server has reported."""
        error = JobEndedError(f"{_SECOND_SERVER} {_START_NEW}", next_step=_START_NEW, job_id=job_id)
        return cls(at=time.time(), error=error)

    @classmethod
    def of_uncancelled(cls, job_id: int) -> SessionEnd:
        """Return the ending, now, of a session whose job Slurm has not ended."""
        next_step = f"If squeue still shows job {job_id} in ten minutes, ask them to cancel it."
        text = (
            f"The session's job {job_id} could not be cancelled, so it may still run and hold its "
            "GPUs. The portal tries again, and its log tells the administrators why."
        )
        error = JobEndedError(f"{text} {next_step}", next_step=next_step, job_id=job_id)
        return cls(at=time.time(), error=error, may_run=True)

    def to_state(self) -> dict[str, Any]:
        """Return the ending as JSON values, without secrets."""
        end = self.error.end
        return {
            _STATE_KEY: {
                "at": self.at,
                "message": self.error.message,
                "next_step": self.error.next_step,
                "end": {**asdict(end), "state": end.state.name} if end else None,
                "job_id": self.error.job_id,
                "log_lines": self.log_lines,
                "used": self.used,
            }
        }


def _read_end(saved: Mapping[str, Any]) -> JobEnd:
    known = {field.name: saved[field.name] for field in fields(JobEnd) if field.name in saved}
    state = JobState.__members__.get(saved.get("state", ""), JobState.UNKNOWN)
    return JobEnd(**{**known, "state": state})
