"""One job of the user, and what the user can do with it."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from dsportal.slurm.errors import OptionsError

# A year.
MOST_HOURS = 8760


class Action(StrEnum):
    """What the user can do with a job besides cancelling it.

    All but SHORTEN, which lowers the time limit, are commands of scontrol.
    """

    HOLD = "hold"
    RELEASE = "release"
    REQUEUE = "requeue"
    SHORTEN = "shorten"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob:
    """One job of the user.

    Attributes:
        id: Slurm's job id, of an array with the task: 12_3. Of another cluster with its title in
            front: "Volta:12".
        state: Slurm's word, such as RUNNING.
        label: The state in words, such as "Waiting".
        phase: "waiting", "running", "completed" or "failed", also for a cancelled one; "" for what
            is not known.
        is_over: Whether it ended; its output grows no more.
        elapsed: Time that it has run, such as "45 s" or "2 h 5 min"; "" before.
        limit: Its time limit, such as "8 h"; "" for none.
        n_gpus: GPUs on all nodes together.
        at_s: When it started or, if it is over, ended, in seconds since 1970; infinite while it
            waits.
        starts_at: When Slurm expects it to start, in ISO 8601 with an offset, or "".
        nodes: Its nodes while it runs, in Slurm's short form, or "".
        reason: Why it waits or did not end well, and the next step, in words; "" for neither.
        array: The id of the array below whose row it is listed, or "".
        tasks: Of the row of an array, how many of its tasks are in which state, in words; else "".
        again: When it runs again, such as "every day at 04:00", or "".
        series: What the jobs that follow each other so share, or "".
        has_script: Whether it is over and was submitted with a file that may be there.
        place: Its place in the queue in words; "" if it does not wait there, or it is not known.
        cluster: Title of its cluster if that is another one than this session's; else "".
    """

    id: str
    name: str
    state: str
    label: str
    phase: str
    is_over: bool
    is_session: bool
    partition: str
    elapsed: str
    limit: str
    n_nodes: str
    n_cores: str
    n_gpus: int
    gpu_type: str
    at_s: float
    starts_at: str
    nodes: str
    actions: tuple[Action, ...]
    reason: str
    array: str = ""
    tasks: str = ""
    again: str = ""
    series: str = ""
    has_script: bool = False
    place: str = ""
    cluster: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the job as JSON values."""
        values = asdict(self)
        # JSON has no infinity.
        del values["at_s"]
        return values


def parse_action(value: object) -> Action:
    """Return what a request's `value` names."""
    action = next((action for action in Action if action == value), None)
    if action is None:
        raise OptionsError(f"{value!r:.60} cannot be done to a job. Choose {', '.join(Action)}.")
    return action


def parse_hours(value: object) -> int:
    """Return the seconds of a time limit, a minute or more; `value` is what a request says."""
    try:
        hours = float(str(value))
    except ValueError:
        hours = 0.0
    # Not a number is not in between.
    if not 1 / 60 <= hours <= MOST_HOURS:
        raise OptionsError(f"{value!r:.60} is no time limit. Give hours, such as 2 or 0.5.")
    return round(hours * 3600)
