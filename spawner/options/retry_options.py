"""Options that would have avoided a failure, if its diagnosis suggests some."""

from collections.abc import Mapping
from dataclasses import dataclass

from dsportal.amounts import count
from dsportal.diagnosis.ended import NEARLY_ALL
from dsportal.slurm.errors import OptionsError
from dsportal.slurm.states import JobState
from spawner.options.job_options import JobOptions
from spawner.slurm.jobs import JobEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryOptions:
    """Options that avoid a failure.

    Attributes:
        words: What is different, such as "with 2 GPUs".
        options: All options of the new choice.
    """

    words: str
    options: Mapping[str, str]


def correct(
    options: Mapping[str, str], end: JobEnd, *, most_gpus: int | None
) -> RetryOptions | None:
    """Return other options if the way in which a session ended calls for them.

    Args:
        most_gpus: GPUs of the largest session that the user can have; None if not known.

    Returns:
        More GPUs, since memory comes with them, for a session that was out of memory; the same
        options without reservation, GPU type or a GPU if these cannot be had; else None.
    """
    try:
        n_gpus = JobOptions.parse(options).n_gpus
    except OptionsError:
        return None
    if _was_out_of_memory(end):
        return _with_gpus(options, n_gpus + 1) if n_gpus < (most_gpus or 0) else None
    if "reservation" in options and end.reason.startswith("Reservation"):
        return _without(options, "reservation", "without the reservation")
    # Without a type first: that leaves the user as many GPUs as before.
    if end.reason == "BadConstraints":
        if "gpu_type" in options:
            return _without(options, "gpu_type", "with any type of GPU")
        return _with_gpus(options, n_gpus - 1) if n_gpus > 1 else None
    return None


def _was_out_of_memory(end: JobEnd) -> bool:
    return end.state is JobState.OUT_OF_MEMORY or (
        end.is_killed and (end.memory_share or 0.0) >= NEARLY_ALL
    )


def _with_gpus(options: Mapping[str, str], n_gpus: int) -> RetryOptions:
    return RetryOptions(
        words=f"with {count(n_gpus, 'GPU')}", options={**options, "gpus": str(n_gpus)}
    )


def _without(options: Mapping[str, str], name: str, words: str) -> RetryOptions:
    return RetryOptions(
        words=words, options={key: value for key, value in options.items() if key != name}
    )
