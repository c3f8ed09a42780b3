"""Why a session waits or came to its end: Slurm's answers and the log, put together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import time
from collections.abc import Sequence
from typing import Any

from spawner.client.slurm import Slurm
from spawner.diagnosis import Situation, explain_end, explain_waiting, log_tail
from spawner.errors import JobEndedError, SlurmError
from spawner.session.progress import Progress
from spawner.session.session import Session
from spawner.session.session_end import Ending
from spawner.slurm.jobs import JobEnd, JobKey, JobRecord
from spawner.slurm.states import JobState, Phase
from spawner.taken_ports import NEXT_STEP, ended_for_ports, find_taken

# A server tells of its end when it begins; kernels that take their time end after it.
_CLEANING_TIMEOUT_S = 10.0
_ACCOUNTING_TIMEOUT_S = 10.0
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 1.0
_tellings: set[asyncio.Task[None]] = set()


def tell_state(
    progress: Progress, record: JobRecord | None, session: Session, *, gpus: str
) -> None:
    """Add what squeue says about a session's job to the page.

    Args:
        progress: The page.
        record: Slurm's last answer; nothing is added where there is none.
        session: The session.
        gpus: What its GPUs are called.
    """
    if record is None:
        return
    if record.state.phase is Phase.WAITING:
        why = explain_waiting(record.reason, situation_of(session), state=record.state)
        progress.tell("queued", 30, str(why))
    elif record.state.phase is Phase.RUNNING:
        progress.tell("running", 60, f"Job {record.key.job_id} runs on {record.node} with {gpus}.")


async def explain_session_end(slurm: Slurm, session: Session) -> JobEndedError:
    """Return why the job of a session ended.

    Args:
        slurm: Is asked how the job ended.
        session: The session.

    Returns:
        An error with one sentence and one next step.
    """
    end = await _read_end(slurm, session.key)
    user_uid = None
    if end.cancelled_by_uid is not None:
        # The name service may take its time, so it is not asked in the event loop.
        with contextlib.suppress(KeyError):
            user_uid = (await asyncio.to_thread(pwd.getpwnam, session.user)).pw_uid
    diagnosis = explain_end(
        end.state,
        exit_code=end.exit_code,
        signal=end.signal,
        reason=end.reason,
        cancelled_by_uid=end.cancelled_by_uid,
        node=end.node,
        situation=situation_of(session, user_uid=user_uid),
    )
    return JobEndedError(
        str(diagnosis),
        next_step=diagnosis.next_step,
        end=None if end.state is JobState.UNKNOWN else end,
        job_id=session.job_id,
    )


def late_start(running_start_timeout_s: float, session: Session) -> JobEndedError:
    """Return the error for a job that runs, but whose server does not answer.

    Args:
        running_start_timeout_s: Seconds that were given to it.
        session: The session.

    Returns:
        An error with one sentence and one next step.
    """
    next_step = "Read the end of the log, or show it to the administrators."
    return JobEndedError(
        f"The job ran for {running_start_timeout_s:.0f} s, but its notebook server did not answer. "
        f"{next_step}",
        next_step=next_step,
        job_id=session.job_id,
    )


async def read_ending(
    slurm: Slurm, session: Session, *, secrets: Sequence[str], late_s: float | None = None
) -> Ending:
    """Return how the job of a session ended, or has to end, with the end of its log.

    Args:
        slurm: Is asked how the job ended.
        session: The session.
        secrets: Texts of the log that must not be shown.
        late_s: Seconds that were given to its server, where it runs and the server does not
            answer; None where it is over.

    Returns:
        An ending of this moment.
    """
    at = time.time()
    if late_s is None:
        error = await explain_session_end(slurm, session)
    else:
        error = late_start(late_s, session)
    lines = await read_log_lines(slurm, session.key, secrets=secrets)
    if taken := ended_for_ports(lines):
        error = JobEndedError(
            f"{taken} {NEXT_STEP}", next_step=NEXT_STEP, end=error.end, job_id=session.job_id
        )
    return Ending(at=at, error=error, log_lines=lines)


async def read_log_lines(slurm: Slurm, key: JobKey, *, secrets: Sequence[str]) -> str:
    """Return the end of a job's log, safe to show.

    Args:
        slurm: Reads it as the user.
        key: The job.
        secrets: Texts that must not be shown.

    Returns:
        At most 30 lines; empty where the log cannot be read.
    """
    with contextlib.suppress(SlurmError):
        return log_tail(await slurm.read_log(key), secrets=[text for text in secrets if text])
    return ""


def tell_of_other_port(spawner: Any, port: int) -> None:
    """Write into the hub's log why a session listens outside the site's range, read from its own.

    Args:
        spawner: The session's.
        port: Where it listens.
    """
    telling = asyncio.ensure_future(_tell_of_other_port(spawner, port))
    _tellings.add(telling)
    telling.add_done_callback(_tellings.discard)


async def _tell_of_other_port(spawner: Any, port: int) -> None:
    lines = await read_log_lines(spawner.cluster.slurm, spawner.session.key, secrets=())
    spawner.log.warning(
        "The session of %s listens on port %d, outside %d to %d. %s",
        spawner.user.name,
        port,
        spawner.port_min,
        spawner.port_max,
        find_taken(lines) or "Its log does not say why.",
    )


def situation_of(session: Session, *, user_uid: int | None = None) -> Situation:
    """Return what is known about a session beside Slurm's word.

    Args:
        session: The session.
        user_uid: Uid of its user, where it is known.

    Returns:
        The numbers that an explanation can name.
    """
    return Situation(
        n_gpus=session.n_gpus,
        walltime_s=session.walltime_s or None,
        memory_mib=session.memory_mib or None,
        user_uid=user_uid,
        hub_uid=os.getuid(),
    )


async def _read_end(slurm: Slurm, key: JobKey) -> JobEnd:
    asked_at = time.monotonic()
    pause_s = _FIRST_PAUSE_S
    end: JobEnd | None = None
    with contextlib.suppress(SlurmError):
        end = await slurm.read_end(key)
        while end and time.monotonic() - asked_at < _patience_s(slurm, end):
            await asyncio.sleep(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, 1.5 * pause_s)
            end = await slurm.read_end(key)
    return end or JobEnd(state=JobState.UNKNOWN)


def _patience_s(slurm: Slurm, end: JobEnd) -> float:
    """Return how long more may become known; 0 where all is."""
    # While the node cleans up, Slurm does not say how the job ended.
    if end.state is JobState.COMPLETING:
        return _CLEANING_TIMEOUT_S
    # Who cancelled it is known only when accounting has heard of it.
    is_anonymous = end.state is JobState.CANCELLED and end.cancelled_by_uid is None
    return _ACCOUNTING_TIMEOUT_S if is_anonymous and slurm.accounting.is_kept else 0.0
