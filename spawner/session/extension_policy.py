"""The site's policy for extensions: whether, how often and how far, without asking Slurm."""

from dataclasses import dataclass

from dsportal.amounts import format_duration
from spawner.errors import ExtensionError
from spawner.slurm.jobs import WaitingJob

# A smaller gain is not worth a click.
_LEAST_GAIN_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionPolicy:
    """A site's policy for extensions.

    Attributes:
        step_s: Seconds that one extension adds; 0 if the site extends no session.
        most_s: Longest session in seconds, all extensions included.
        most_times: Most extensions of one session.
        is_allowed_while_others_wait: Also while another user's job waits for the partition.
    """

    step_s: int
    most_s: int
    most_times: int
    is_allowed_while_others_wait: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WalltimeLimit:
    """A limit of Slurm's own.

    Attributes:
        what: Whose limit it is, as the subject of a sentence: "The partition jupyter".
        most_s: The longest job in seconds, or None for no limit.
    """

    what: str
    most_s: int | None


def decide_limit(
    policy: ExtensionPolicy, *, limit_s: int, n_extensions: int, ceilings: tuple[WalltimeLimit, ...]
) -> int:
    """Return a session's new time limit in seconds: whole minutes, more than `limit_s`.

    Args:
        ceilings: Limits of Slurm's own, enforced here because Slurm does not hold its operators
            to them.

    Source:
        scontrol(1), TimeLimit, Slurm 22.05; that an operator is not held to MaxTime was seen on
        22.05.8.
    """
    check_times(policy, n_extensions=n_extensions)
    site = WalltimeLimit(what="This site", most_s=policy.most_s)
    lowest = min(
        (ceiling for ceiling in (site, *ceilings) if ceiling.most_s is not None),
        key=lambda ceiling: ceiling.most_s or 0,
    )
    most_s = lowest.most_s or 0
    # Slurm's time limits are whole minutes.
    new_limit_s = min(limit_s + policy.step_s, most_s) // 60 * 60
    if new_limit_s - limit_s < min(_LEAST_GAIN_S, policy.step_s):
        raise ExtensionError(
            f"The session cannot be extended beyond {format_duration(limit_s)}. {lowest.what} "
            f"allows {format_duration(most_s)} in all. Save your work and start a new session."
        )
    return new_limit_s


def check_times(policy: ExtensionPolicy, *, n_extensions: int) -> None:
    """Raise if the site extends no session, or not this one again."""
    if policy.step_s == 0:
        raise ExtensionError(
            "This site does not extend sessions. Save your work and start a new one."
        )
    if n_extensions >= policy.most_times:
        times = "once" if policy.most_times == 1 else f"{policy.most_times} times"
        raise ExtensionError(
            f"The session was already extended {times}, as often as this site allows. "
            "Save your work and start a new session."
        )


def check_queue(
    policy: ExtensionPolicy, *, user: str, partition: str, waiting: tuple[WaitingJob, ...]
) -> None:
    """Raise if somebody else waits for what the session holds.

    Args:
        user: The session's user, whose own jobs do not count.
    """
    # A job that waits for a limit of its own would not start if this session ended.
    others = [job for job in waiting if job.user != user and job.waits_for_resources]
    if others and not policy.is_allowed_while_others_wait:
        jobs = "Another job is" if len(others) == 1 else f"{len(others)} other jobs are"
        raise ExtensionError(
            f"{jobs} waiting for GPUs in partition {partition}, and waiting jobs have priority "
            "over "
            "extensions here. Try again later, or save your work and queue a new session."
        )
