"""Why a session waits or has ended, from Slurm's answers and the job's log."""

import asyncio
import contextlib
import os
import pwd
import time
from collections.abc import Sequence
from dataclasses import replace

from dsportal.diagnosis import Situation, explain_end, explain_waiting, log_tail
from dsportal.slurm.states import JobState, Phase
from spawner.client.slurm import Slurm
from spawner.errors import SlurmError
from spawner.own_config import NEXT_STEP as CURE
from spawner.own_config import blame
from spawner.session.progress import Progress
from spawner.session.session import Session
from spawner.session.session_end import JobEndedError, SessionEnd
from spawner.slurm.jobs import JobEnd, JobKey, JobRecord
from spawner.taken_ports import NEXT_STEP, ended_for_ports

# A server reports its end when it starts to stop; slow kernels end after that.
_CLEANING_TIMEOUT_S = 10.0
_ACCOUNTING_TIMEOUT_S = 10.0
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 1.0


def add_state_step(
    progress: Progress, record: JobRecord | None, situation: Situation, *, gpus: str
) -> None:
    """Add squeue's view of a session's job to the progress page.

    Args:
        gpus: Its GPUs in words, such as "2 GPUs".
    """
    if record is None:
        return
    if record.state.phase is Phase.WAITING:
        why = explain_waiting(record.reason, situation, state=record.state)
        progress.add_step("queued", 30, str(why))
    elif record.state.phase is Phase.RUNNING:
        progress.add_step(
            "running", 60, f"Job {record.key.job_id} is running on {record.node} with {gpus}."
        )


async def explain_session_end(slurm: Slurm, session: Session) -> JobEndedError:
    """Return why a session's job ended, as an error with one sentence and one next step."""
    end = await _read_end(slurm, session.key)
    if end.is_killed and session.memory_mib:
        peak_mib = await slurm.accounting.read_peak_mib(session.key)
        end = replace(end, memory_share=peak_mib / session.memory_mib if peak_mib else None)
    user_uid = None
    if end.cancelled_by_uid is not None:
        # The name service may be slow, so it is not called in the event loop.
        with contextlib.suppress(KeyError):
            user_uid = (await asyncio.to_thread(pwd.getpwnam, session.user)).pw_uid
    situation = describe_situation(session, user_uid=user_uid)
    diagnosis = explain_end(
        end.state,
        exit_code=end.exit_code,
        signal=end.signal,
        reason=end.reason,
        cancelled_by_uid=end.cancelled_by_uid,
        node=end.node,
        # Administrators can change the limit of a job that runs.
        situation=replace(
            situation,
            walltime_s=end.time_limit_s or situation.walltime_s,
            memory_share=end.memory_share,
        ),
    )
    return JobEndedError(
        str(diagnosis),
        next_step=diagnosis.next_step,
        end=None if end.state is JobState.UNKNOWN else end,
        job_id=session.job_id,
    )


def late_start(running_start_timeout_s: float, session: Session) -> JobEndedError:
    """Return the error for a running job whose server has not answered in time."""
    next_step = "Read the end of the log, or show it to the administrators."
    return JobEndedError(
        f"The job ran for {running_start_timeout_s:.0f} s, but its notebook server did not "
        "respond. "
        f"{next_step}",
        next_step=next_step,
        job_id=session.job_id,
    )


async def read_session_end(
    slurm: Slurm, session: Session, *, secrets: Sequence[str], late_s: float | None = None
) -> SessionEnd:
    """Return how a session's job ended, or has to end, with the end of its log.

    Args:
        secrets: Texts that the log must not show.
        late_s: Seconds that the server had to answer, if the job runs but the server did not;
            None if the job is over.
    """
    at = time.time()
    if late_s is None:
        error = await explain_session_end(slurm, session)
    else:
        error = late_start(late_s, session)
    # After the job's end: its last lines are the ones that tell.
    lines = await read_log_lines(slurm, session.key, secrets=secrets)
    # Slurm sees only a failed script; the log has the real reason.
    if taken := ended_for_ports(lines):
        error = JobEndedError(
            f"{taken} {NEXT_STEP}", next_step=NEXT_STEP, end=error.end, job_id=session.job_id
        )
    is_own = error.end is None or error.end.state is JobState.FAILED
    if is_own and not session.is_ready and (files := blame(lines)):
        sentence = error.message.removesuffix(error.next_step).rstrip()
        error = JobEndedError(
            f"{sentence} Your own {files} may be the cause. {CURE}",
            next_step=CURE,
            end=error.end,
            job_id=session.job_id,
            needs_rescue=True,
        )
    used = "" if late_s is not None else await slurm.accounting.read_used(session.key)
    return SessionEnd(at=at, error=error, log_lines=lines, used=used)


async def read_log_lines(slurm: Slurm, key: JobKey, *, secrets: Sequence[str]) -> str:
    """Return the last 30 lines of a job's log, without `secrets`; empty if it cannot be read."""
    with contextlib.suppress(SlurmError):
        return log_tail(await slurm.read_log(key), secrets=[text for text in secrets if text])
    return ""


def describe_situation(session: Session, *, user_uid: int | None = None) -> Situation:
    """Return what the portal knows of a session besides Slurm's reason."""
    return Situation(
        n_gpus=session.n_gpus,
        walltime_s=session.walltime_s or None,
        memory_mib=session.memory_mib or None,
        user_uid=user_uid,
        hub_uid=os.getuid(),
        gpu_type=session.gpu_type,
        has_other_gpu_type=session.has_other_gpu_type,
        has_other_partition=session.has_other_partition,
    )


async def _read_end(slurm: Slurm, key: JobKey) -> JobEnd:
    asked_at = time.monotonic()
    pause_s = _FIRST_PAUSE_S
    end: JobEnd | None = None
    with contextlib.suppress(SlurmError):
        end = await slurm.read_end(key)
        # Each answer decides how long a better one is worth waiting for.
        while end and time.monotonic() - asked_at < _patience_s(slurm, end):
            await asyncio.sleep(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, 1.5 * pause_s)
            end = await slurm.read_end(key)
    return end or JobEnd(state=JobState.UNKNOWN)


def _patience_s(slurm: Slurm, end: JobEnd) -> float:
    """Return how long to wait for a better answer; 0 if this one is complete."""
    # While the node cleans up, Slurm does not say how the job ended.
    if end.state is JobState.COMPLETING:
        return _CLEANING_TIMEOUT_S
    # Only accounting says who cancelled a job, and only after some time.
    is_anonymous = end.state is JobState.CANCELLED and end.cancelled_by_uid is None
    return _ACCOUNTING_TIMEOUT_S if is_anonymous and slurm.accounting.is_kept else 0.0
