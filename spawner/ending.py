"""The end of a session that was in use, kept until the next start, so that its user learns why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from spawner.errors import JobEndedError
from spawner.jobs import JobEnd
from spawner.states import JobState

_STATE_KEY = "ending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a session ended that nobody had stopped in the portal.

    Attributes:
        at: When it was noticed, in seconds since 1970 (UTC).
        error: One sentence and one next step.
        log_lines: The end of the job's log, without secrets; may be empty.
    """

    at: float
    error: JobEndedError
    log_lines: str = ""

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Ending | None:
        """Return the ending in a saved state.

        Args:
            state: What `to_state` returned, by this or an earlier release.

        Returns:
            The ending, or None where the state holds none.
        """
        saved = state.get(_STATE_KEY)
        if not isinstance(saved, Mapping):
            return None
        end = saved["end"]
        error = JobEndedError(
            saved["message"],
            next_step=saved["next_step"],
            end=JobEnd(**{**end, "state": JobState[end["state"]]}) if end else None,
            job_id=saved["job_id"],
        )
        return cls(at=saved["at"], error=error, log_lines=saved["log_lines"])

    def to_state(self) -> dict[str, Any]:
        """Return this as JSON values; holds no secret."""
        end = self.error.end
        return {
            _STATE_KEY: {
                "at": self.at,
                "message": self.error.message,
                "next_step": self.error.next_step,
                "end": {**asdict(end), "state": end.state.name} if end else None,
                "job_id": self.error.job_id,
                "log_lines": self.log_lines,
            }
        }
