"""The Slurm job of a kernel: its sbatch command, its state, its end."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dsportal.amounts import SECONDS_PER_MINUTE, format_time_left
from dsportal.diagnosis import Situation, explain_end, explain_rejection, explain_waiting
from dsportal.diagnosis.messages import KERNEL
from dsportal.slurm.listing import NO_SUCH_JOB, PARSABLE_JOB_ID, Sacct, Squeue, new_nonce
from dsportal.slurm.no_answer import is_no_answer
from dsportal.slurm.states import JobState, Phase, parse_cancelled_by, parse_state
from dsportal.slurm.units import format_walltime, parse_time_left
from portal.server.base.budget import read_charged
from spawner.client.command import PATH, Completed, make_error, query, run_command
from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.forecast.forecaster import Rejection, parse_test_only
from spawner.options.budget_messages import ChargedBudgets
from spawner.slurm.catalog import SINFO_ARGV, Catalog
from spawner.slurm.gres import SHARD
from spawner.slurm.jobs import KERNEL_PREFIX
from spawner.slurm.resources import Resources

TIMEOUT_S = 15
QUEUED = Squeue("TNLSr")
ENDED = Sacct(("JobIDRaw", "State", "ExitCode"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """All that decides the job of a kernel; an empty name is left to Slurm.

    Attributes:
        session_job_id: The job of the session, by which people and programs find this one.
        folder: Only the user may enter it. The job starts there and writes its log there.
    """

    session_job_id: str
    resources: Resources
    gpu_type: str
    walltime_s: int
    folder: Path
    command: tuple[str, ...]
    partition: str = ""
    account: str = ""
    qos: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """What Slurm says of a job.

    Attributes:
        node: Where it runs, or "".
        left_s: Seconds until its limit; None if it has none or does not run.
        words: Why it waits and until when, or why it ended; "" while it runs.
    """

    phase: Phase
    node: str = ""
    left_s: int | None = None
    words: str = ""


def sbatch_argv(request: JobRequest) -> list[str]:
    """Return the sbatch command; the script goes to its standard input.

    Source:
        sbatch(1), Slurm 22.05.
    """
    resources = request.resources
    counted = f"{request.gpu_type}:{resources.n_gpus}" if request.gpu_type else resources.n_gpus
    # A shard is a GRES of its own, which --gpus-per-node cannot ask for.
    option = "--gres" if request.gpu_type == SHARD else "--gpus-per-node"
    argv = [
        "sbatch",
        "--parsable",
        # Not the prefix of sessions: the hub would take it for one.
        f"--job-name={KERNEL_PREFIX}{request.session_job_id}",
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={resources.n_cores}",
        f"--mem={resources.memory_mib}M",
        f"{option}={counted}",
        f"--time={format_walltime(request.walltime_s)}",
        "--no-requeue",
        "--export=ALL",
        f"--chdir={request.folder}",
        f"--output={request.folder / 'job.log'}",
    ]
    for place in ("partition", "account", "qos"):
        if name := getattr(request, place):
            argv.append(f"--{place}={name}")
    return argv


def expected_start(moment: str, now_s: float) -> str:
    """Return when a job starts that waits, in words; "" if Slurm does not say.

    Args:
        moment: squeue's expected start, in the local time of this process.
        now_s: In seconds since 1970 (UTC).
    """
    try:
        wait_s = datetime.fromisoformat(moment).timestamp() - now_s
    except ValueError:
        return ""
    if wait_s < SECONDS_PER_MINUTE:
        return "Slurm expects it to start any moment."
    return f"Slurm expects it to start in {format_time_left(wait_s)}."


def _refusal(argv: list[str], done: Completed) -> SlurmError:
    if is_no_answer(done.stderr):
        return make_error(argv, done.exit_code, done.stderr)
    return SlurmError(str(explain_rejection(done.stderr, Situation(subject=KERNEL))))


class KernelSlurm:
    """Slurm's commands for kernels' jobs, run as the user.

    Args:
        path: Where the commands are.
    """

    def __init__(self, path: str = PATH) -> None:
        self._path = path
        # Jobs that Slurm did not know at the last look.
        self._absent: set[int] = set()

    async def read_catalog(self) -> Catalog:
        """Return the partitions and nodes."""
        done = await query(SINFO_ARGV, timeout_s=TIMEOUT_S, path=self._path)
        return Catalog.parse(done.stdout)

    async def read_charged(self, partition: str) -> ChargedBudgets:
        """Return the budgets that a job in a partition is charged to."""
        return await read_charged(os.environ, partition, path=self._path)

    async def submit(self, request: JobRequest) -> int:
        """Return the id of a newly queued job."""
        argv = sbatch_argv(request)
        done = await self._sbatch(request, argv)
        job_id = PARSABLE_JOB_ID.search(done.stdout)
        if job_id is None:
            raise _refusal(argv, done)
        return int(job_id[1])

    async def forecast(self, request: JobRequest) -> str:
        """Return when a job would start, in words; nothing is queued, and it raises as `submit`."""
        done = await self._sbatch(request, [*sbatch_argv(request), "--test-only"])
        answer = parse_test_only(done.stderr, datetime.now().astimezone())
        if isinstance(answer, Rejection):
            raise SlurmError(str(answer.diagnosis))
        return expected_start(answer.isoformat(), time.time())

    async def _sbatch(self, request: JobRequest, argv: list[str]) -> Completed:
        # Paths and numbers of the portal's own alone: no word needs quotes.
        script = f"#!/bin/sh\nexec {' '.join(request.command)}\n"
        done = await run_command(argv, timeout_s=TIMEOUT_S, path=self._path, stdin=script)
        if done.exit_code != 0:
            raise _refusal(argv, done)
        return done

    async def status(self, job_id: int, *, n_gpus: int) -> JobStatus:
        """Return what Slurm says of a job; UNKNOWN if it does not answer."""
        situation = Situation(subject=KERNEL, n_gpus=n_gpus)
        nonce = new_nonce()
        argv = ("squeue", *QUEUED.options(nonce), f"--jobs={job_id}", "--states=all")
        try:
            done = await query(argv, timeout_s=TIMEOUT_S, path=self._path)
            row = next(QUEUED.rows(done.stdout, nonce), None)
        except SlurmUnavailableError:
            return JobStatus(phase=Phase.UNKNOWN)
        except SlurmError as error:
            if NO_SUCH_JOB not in error.stderr:
                return JobStatus(phase=Phase.UNKNOWN)
            row = None
        if row is None:
            return await self._accounted(job_id, situation)
        self._absent.discard(job_id)
        state, node, left, starts_at, reason = parse_state(row[0]), *row[1:]
        if state.phase is Phase.WAITING:
            why = str(explain_waiting(reason, situation, state=state))
            words = f"{why} {expected_start(starts_at, time.time())}".strip()
            return JobStatus(phase=state.phase, words=words)
        if state.phase is Phase.OVER:
            # squeue does not know who cancelled it.
            return await self._accounted(job_id, situation, state)
        return JobStatus(phase=state.phase, node=node, left_s=parse_time_left(left))

    async def _accounted(
        self, job_id: int, situation: Situation, state: JobState = JobState.UNKNOWN
    ) -> JobStatus:
        nonce = new_nonce()
        argv = ("sacct", *ENDED.options(nonce), f"--jobs={job_id}")
        word = ""
        # Without accounting, squeue alone says that a job has ended.
        with suppress(SlurmError):
            done = await query(argv, timeout_s=TIMEOUT_S, path=self._path)
            _, word, _ = next(ENDED.rows(done.stdout, nonce), ["", "", ""])
        accounted, uid = parse_state(word), parse_cancelled_by(word)
        state = accounted if accounted.phase is Phase.OVER else state
        # A Slurm that has just started may lack a job: once missing is not over.
        if state.phase is not Phase.OVER and (word or job_id not in self._absent):
            self._absent.add(job_id)
            return JobStatus(phase=Phase.UNKNOWN)
        words = str(explain_end(state, cancelled_by_uid=uid, situation=situation))
        return JobStatus(phase=Phase.OVER, words=words)

    async def signal(self, job_id: int, name: str) -> None:
        """Send the job one of the signals that it knows, such as "INT"."""
        argv = ("scancel", "--batch", f"--signal={name}", str(job_id))
        await query(argv, timeout_s=TIMEOUT_S, path=self._path)

    async def cancel(self, job_id: int) -> None:
        """End the job."""
        await query(("scancel", str(job_id)), timeout_s=TIMEOUT_S, path=self._path)
