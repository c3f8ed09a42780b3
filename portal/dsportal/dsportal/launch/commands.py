"""Slurm commands of the notebook other than srun: queue a job, ask for its state, cancel it."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dsportal.errors import SessionError, StepError
from dsportal.launch.layout import explain_too_many
from dsportal.launch.messages import explain_never, explain_rejection
from dsportal.launch.outside import reach
from dsportal.launch.partition import SINFO_FORMAT, PartitionLimits, explain_too_large, parse_limits
from dsportal.launch.sbatch import JobRequest, job_environment, job_script, sbatch_argv
from dsportal.slurm.arrays import tasks_of
from dsportal.slurm.listing import NO_SUCH_JOB, Sacct, Squeue, new_nonce
from dsportal.slurm.states import JobState as SlurmState
from dsportal.slurm.states import Phase, parse_state

# State, nodes and reason of a job; names of steps; state of a job that squeue has forgotten.
QUEUED = Squeue("TNr")
STEP_NAMES = Squeue("j")
ENDED = Sacct(("JobIDRaw", "State"))
_TIMEOUT_S = 10
# A new job has one of these reasons until Slurm has considered it.
_NOT_CONSIDERED = {"", "None", "(null)"}
_CONSIDERED_WITHIN_S = 2.0
_ASK_EVERY_S = 0.2
_GPUS = re.compile(r"(?:^|,)gpu(?::[^:,()]+)?:(\d+)")
_NO_SRUN = (
    "This Python runs where there is no srun, which starts ranks, such as in an image that the "
    "portal did not start. Add the image with 'dsportal environments add NAME --image FILE' and "
    "choose its kernel, or start the image in a job file: srun apptainer exec IMAGE python3 "
    "train.py."
)
_NO_ANSWER = "Slurm is not responding. Running jobs are not affected. Try again in a minute."


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """What Slurm says about a job.

    Attributes:
        state: Long name of its state; "UNKNOWN" if Slurm did not answer, "GONE" if it does not know
            the job any more.
        reason: Why it waits, in Slurm's words.
        nodes: Its nodes, in Slurm's short form; empty while it waits.
    """

    state: str
    reason: str = ""
    nodes: str = ""

    @property
    def is_waiting(self) -> bool:
        """True if nothing of the job runs yet, or not any more since it is in the queue again."""
        return parse_state(self.state).phase is Phase.WAITING

    @property
    def is_over(self) -> bool:
        """True if the job has ended; never if Slurm just did not answer."""
        state = parse_state(self.state)
        # While Slurm cleans up, it does not say yet how the job ended.
        has_ended = state.phase is Phase.OVER and state is not SlurmState.COMPLETING
        return has_ended or self.state == "GONE"


def check_srun() -> None:
    """Refuse a run before anything is written for it."""
    if shutil.which(reach(["srun"])[0]) is None:
        raise StepError(_NO_SRUN)


def submit(request: JobRequest, command: Sequence[str], *, script: str = "") -> int:
    """Return the number of a newly queued job that runs `command`.

    Args:
        script: A job file with all of that, in place of both.

    Raises:
        SessionError: If it would wait for ever, since it asks for more than its partition, account
            or QOS gives one job; it is not queued then.
        StepError: If Slurm refuses it or does not answer.
    """
    argv = ["sbatch", "--parsable"] if script else sbatch_argv(request)
    printed = _sbatch(request, argv, script or job_script(command)).stdout
    job_id = re.match(r"(\d+)", printed)
    if job_id is None:
        raise StepError(explain_rejection(printed), is_refused=True)
    _refuse_for_ever(request, int(job_id[1]))
    return int(job_id[1])


def try_submit(request: JobRequest) -> str:
    """Return what Slurm says of the start of a job, which is not queued; raises as `submit`."""
    argv = [*sbatch_argv(request), "--test-only"]
    return _sbatch(request, argv, job_script(["true"])).stderr


def _sbatch(
    request: JobRequest, argv: Sequence[str], script: str
) -> subprocess.CompletedProcess[str]:
    limits = partition_limits(request.partition) if request.partition else PartitionLimits()
    if request.partition:
        asked = (request.shape, request.walltime_s, request.partition)
        if too_large := explain_too_large(*asked, limits):
            raise SessionError(too_large)
    done = ask_slurm(argv, stdin=script)
    if done is None:
        raise StepError(_NO_ANSWER)
    if done.returncode != 0:
        # Slurm's own message does not say how many GPUs a node has.
        most = most_gpus_per_node(request.partition)
        too_many = explain_too_many(request.shape, most, limits.most_nodes)
        n_tasks = len(tasks_of(f"0_[{request.array}]"))
        raise StepError(too_many or explain_rejection(done.stderr, n_tasks), is_refused=True)
    return done


def _refuse_for_ever(request: JobRequest, job_id: int) -> None:
    """Cancel a job whose limits keep it in the queue for ever."""
    give_up_at = time.monotonic() + _CONSIDERED_WITHIN_S
    job = job_state(job_id)
    # Slurm looks at the limits of accounts when it takes a job, or soon after.
    while job.is_waiting and job.reason in _NOT_CONSIDERED and time.monotonic() < give_up_at:
        time.sleep(_ASK_EVERY_S)
        job = job_state(job_id)
    never = explain_never(job.reason, request.shape, request.walltime_s)
    if job.is_waiting and never is not None:
        cancel(job_id)
        raise SessionError(never)


def partition_limits(partition: str) -> PartitionLimits:
    """Return what a partition gives one job; no limits if Slurm does not answer."""
    done = ask_slurm(
        ["sinfo", "--noheader", f"--partition={partition}", f"--format={SINFO_FORMAT}"]
    )
    return parse_limits(done.stdout if done is not None and done.returncode == 0 else "")


def most_gpus_per_node(partition: str) -> int:
    """Return the GPUs of the node that has the most; 0 if Slurm does not say.

    Args:
        partition: Empty for all partitions.
    """
    where = [f"--partition={partition}"] if partition else []
    done = ask_slurm(["sinfo", "--noheader", *where, "--format=%G"])
    return parse_most_gpus(done.stdout) if done is not None and done.returncode == 0 else 0


def parse_most_gpus(gres: str) -> int:
    """Return the GPUs of the node that has the most, all types together.

    Args:
        gres: What sinfo prints for %G, a line for each kind of node, such as "gpu:v100:4(S:0-1)".

    Source:
        sinfo(1), Slurm 22.05.
    """
    lines = [_GPUS.findall(line) for line in gres.splitlines()]
    return max((sum(map(int, numbers)) for numbers in lines), default=0)


def job_state(job_id: int) -> JobState:
    """Return the state of a job; from accounting if squeue has forgotten it.

    Source:
        squeue(1), sacct(1), Slurm 22.05.
    """
    rows = read_rows("squeue", QUEUED, f"--jobs={job_id}", "--states=all")
    if rows is None:
        return JobState(state="UNKNOWN")
    for state, nodes, reason in rows:
        return JobState(state=state, nodes=nodes, reason=reason)
    _, state = next(iter(read_rows("sacct", ENDED, f"--jobs={job_id}") or ()), ["", "GONE"])
    # sacct writes "CANCELLED by 1000".
    return JobState(state=state.partition(" ")[0])


def cancel(job_id: int, *, kill: bool = False) -> bool:
    """Cancel a job.

    Args:
        kill: True to kill its processes at once, those of the batch script too.

    Returns:
        Whether Slurm has taken the order, or no longer knows the job.
    """
    # --full: without it scancel signals the steps, not the batch script.
    done = ask_slurm(["scancel", *(["--full", "--signal=KILL"] if kill else []), str(job_id)])
    return done is not None and (done.returncode == 0 or NO_SUCH_JOB in done.stderr)


def step_names(job_id: int | None = None) -> set[str] | None:
    """Return the names of the running steps of one job, or of all jobs of the user.

    It is None if Slurm did not answer.
    """
    whose = f"--user={os.getuid()}" if job_id is None else f"--jobs={job_id}"
    rows = read_rows("squeue", STEP_NAMES, "--steps", whose)
    return None if rows is None else {name for (name,) in rows}


def mpi_plugins() -> frozenset[str] | None:
    """Return the names of Slurm's MPI plugins, or None if it did not list them.

    Source:
        srun(1), --mpi=list, and what it prints: a title, then one name a line; Slurm 22.05 and
        24.11 to standard output, 20.11 to standard error after "srun: ".
    """
    done = ask_slurm(["srun", "--mpi=list"])
    if done is None or done.returncode:
        return None
    # The title has several words, the name of a plugin only one.
    lines = (done.stdout + done.stderr).replace("srun: ", "").splitlines()
    return frozenset(line.strip() for line in lines if len(line.split()) == 1)


def read_rows(
    program: str,
    fields: Squeue | Sacct,
    *options: str,
    environ: Mapping[str, str] | None = None,
) -> list[list[str]] | None:
    """Return the fields of each line of squeue or sacct; None if it gave no answer.

    The `environ` is as for `ask_slurm`.
    """
    nonce = new_nonce()
    done = ask_slurm([program, *fields.options(nonce), *options], environ=environ)
    # squeue fails for a job that it has forgotten: no reason to give up.
    if done is None or (done.returncode != 0 and NO_SUCH_JOB not in done.stderr):
        return None
    return list(fields.rows(done.stdout, nonce))


def ask_slurm(
    argv: Sequence[str], *, stdin: str = "", environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str] | None:
    """Run a command of Slurm; None if it gave no answer.

    Args:
        environ: Of the notebook or job, without the parts that jobs do not inherit; None for that
            of this process.
    """
    environ = os.environ if environ is None else environ
    try:
        return subprocess.run(
            reach(argv),
            env={**job_environment(environ), "LC_ALL": environ.get("LC_ALL", "C.UTF-8")},
            input=stdin,
            capture_output=True,
            text=True,
            # Names of files need not be UTF-8.
            errors="surrogateescape",
            timeout=_TIMEOUT_S,
            check=False,
            # The notebook's interrupt button signals the whole process group.
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
