"""Slurm commands of the notebook other than srun: queue a job, ask for its state, cancel it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from portal.launch.errors import SessionError, StepError
from portal.launch.slurm.layout import explain_too_many, explain_too_many_nodes
from portal.launch.slurm.messages import explain_rejection
from portal.launch.slurm.sbatch import JobRequest, job_environment, job_script, sbatch_argv

WAITING = frozenset(
    {"PENDING", "CONFIGURING", "POWER_UP_NODE", "REQUEUED", "EXPEDITING", "REQUEUE_FED"}
    | {"REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)
RUNNING = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "COMPLETING"})
_TIMEOUT_S = 10
_GPUS = re.compile(r"(?:^|,)gpu(?::[^:,()]+)?:(\d+)")
_UNKNOWN_JOB = "Invalid job id"
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
    def is_over(self) -> bool:
        """True if the job has ended; never if Slurm just did not answer."""
        return self.state not in WAITING | RUNNING | {"UNKNOWN"}


def submit(request: JobRequest, command: Sequence[str]) -> int:
    """Return the number of a newly queued job that runs `command`.

    Raises:
        SessionError: If the partition has fewer nodes.
        StepError: If Slurm refuses it or does not answer.
    """
    # Unless a site has EnforcePartLimits, Slurm takes such a job and never starts it.
    if request.partition and request.shape.n_nodes > 1:
        n_nodes = nodes_of(request.partition)
        if too_many := explain_too_many_nodes(request.shape, request.partition, n_nodes):
            raise SessionError(too_many)
    done = _slurm(sbatch_argv(request), stdin=job_script(command))
    if done is None:
        raise StepError(_NO_ANSWER)
    job_id = re.match(r"(\d+)", done.stdout)
    if done.returncode != 0 or job_id is None:
        # Slurm's own message does not say how many GPUs a node has.
        too_many = explain_too_many(request.shape, most_gpus_per_node(request.partition))
        raise StepError(too_many or explain_rejection(done.stderr))
    return int(job_id[1])


def nodes_of(partition: str) -> int:
    """Return the nodes of a partition, whatever their state; 0 if Slurm does not say."""
    done = _slurm(["sinfo", "--noheader", f"--partition={partition}", "--format=%D"])
    words = done.stdout.split() if done is not None and done.returncode == 0 else []
    return sum(int(word) for word in words if word.isdecimal())


def most_gpus_per_node(partition: str) -> int:
    """Return the GPUs of the node that has the most; 0 if Slurm does not say.

    Args:
        partition: Empty for all partitions.
    """
    where = [f"--partition={partition}"] if partition else []
    done = _slurm(["sinfo", "--noheader", *where, "--format=%G"])
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
    argv = ["squeue", "--noheader", f"--jobs={job_id}", "--states=all", "--format=%T|%N|%r"]
    done = _slurm(argv)
    # squeue fails for a job that it has forgotten: no reason to give up.
    if done is None or (done.returncode != 0 and _UNKNOWN_JOB not in done.stderr):
        return JobState(state="UNKNOWN")
    state, _, rest = done.stdout.strip().partition("|")
    if state:
        nodes, _, reason = rest.partition("|")
        return JobState(state=state, nodes=nodes, reason=reason)
    return _state_in_accounting(job_id)


def cancel(job_id: int, *, kill: bool = False) -> None:
    """Cancel a job.

    Args:
        job_id: The Slurm job.
        kill: True to kill its processes at once, those of the batch script too.
    """
    _slurm(["scancel", *(["--full", "--signal=KILL"] if kill else []), str(job_id)])


def my_step_names() -> set[str] | None:
    """Return the names of the user's running steps, or None if Slurm did not answer."""
    argv = ["squeue", "--noheader", "--steps", f"--user={os.getuid()}", "--format=%j"]
    done = _slurm(argv)
    return None if done is None or done.returncode else set(done.stdout.split())


def mpi_plugins() -> frozenset[str] | None:
    """Return the names of Slurm's MPI plugins, or None if it did not list them.

    Source:
        srun(1), --mpi=list, and what it prints: a title, then one name a line; Slurm 22.05 and
        24.11 to standard output, 20.11 to standard error after "srun: ".
    """
    done = _slurm(["srun", "--mpi=list"])
    if done is None or done.returncode:
        return None
    # The title has several words, the name of a plugin only one.
    lines = (done.stdout + done.stderr).replace("srun: ", "").splitlines()
    return frozenset(line.strip() for line in lines if len(line.split()) == 1)


def _state_in_accounting(job_id: int) -> JobState:
    argv = ["sacct", "--noheader", "--allocations", "--parsable2", f"--jobs={job_id}"]
    done = _slurm([*argv, "--format=State"])
    words = done.stdout.split() if done is not None and done.returncode == 0 else []
    return JobState(state=words[0] if words else "GONE")


def _slurm(argv: Sequence[str], *, stdin: str = "") -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            argv,
            env={**job_environment(os.environ), "LC_ALL": os.environ.get("LC_ALL", "C.UTF-8")},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
            # The notebook's interrupt button signals the whole process group.
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
