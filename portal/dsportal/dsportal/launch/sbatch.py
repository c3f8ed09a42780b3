"""The Slurm job of a run: sbatch's arguments, script and environment. Pure."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dsportal.launch.layout import Layout
from dsportal.task.inherited import inherited

# Seconds before the time limit at which ranks are told to save a checkpoint; of a short run the
# last third.
LONGEST_WARNING_S = 90
# Variables of the session alone: its GPUs, its Slurm job.
_OF_THE_SESSION = (
    *("SLURM", "SRUN_", "SBATCH_", "SQUEUE_", "OMP_NUM_THREADS"),
    *("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"),
    *("PORTAL_N_GPUS", "PORTAL_WALLTIME_S", "PORTAL_RUN_", "PORTAL_SESSION_"),
)
# Where the hub knows one.
_MAIL_ADDRESS = "PORTAL_MAIL_ADDRESS"
_KEPT = frozenset({"SLURM_CONF"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """Everything that decides the Slurm job of a run.

    Attributes:
        walltime_s: Time limit in seconds, 60 or more.
        folder: The run's folder; the job starts there and writes its log there.
        cores_per_gpu: CPU cores for each GPU; 0 leaves it to the partition.
        memory_mib_per_gpu: Memory in MiB for each GPU; 0 leaves it to the partition.
        array: Numbers of the tasks of an array, as sbatch has them, such as "0-49%8"; empty for a
            single job.
        begin: When it may start at the earliest, as sbatch has it, such as "2026-11-29T04:00";
            empty for at once.
        comment: What Slurm keeps with it; empty for nothing.
        mail_to: Whom Slurm writes when it has ended; empty for the user's address as Slurm knows
            it, None for nobody.
    """

    name: str
    shape: Layout
    walltime_s: int
    folder: Path
    cores_per_gpu: int = 0
    memory_mib_per_gpu: int = 0
    partition: str = ""
    account: str = ""
    qos: str = ""
    array: str = ""
    begin: str = ""
    comment: str = ""
    mail_to: str | None = None


def resource_options(request: JobRequest) -> list[str]:
    """Return sbatch's long options for the size and place of a job: one task for each GPU.

    Source:
        sbatch(1), Slurm 22.05.
    """
    shape = request.shape
    options = [
        f"--job-name={request.name}",
        f"--nodes={shape.n_nodes}",
        f"--ntasks={shape.n_ranks}",
        f"--ntasks-per-node={shape.ranks_per_node}",
        f"--gpus-per-node={shape.ranks_per_node}",
        f"--time={_walltime(request.walltime_s)}",
    ]
    if request.cores_per_gpu:
        options.append(f"--cpus-per-task={request.cores_per_gpu}")
    if request.memory_mib_per_gpu:
        # --mem is the memory of a node.
        options.append(f"--mem={request.memory_mib_per_gpu * shape.ranks_per_node}M")
    for option in ("partition", "account", "qos", "begin", "comment"):
        if value := getattr(request, option):
            options.append(f"--{option}={value}")
    if request.mail_to is not None:
        # One mail either way: Slurm counts a failure as an end, too. Of an array there is one.
        options.append("--mail-type=END,FAIL")
        options += [f"--mail-user={request.mail_to}"] * bool(request.mail_to)
    return options


def mail_to(environ: Mapping[str, str], *, is_wanted: bool) -> str | None:
    """Return whom Slurm writes, as `JobRequest` has it; `environ` is that of the session."""
    return environ.get(_MAIL_ADDRESS, "") if is_wanted else None


def sbatch_argv(request: JobRequest) -> list[str]:
    """Return the sbatch command that queues a run; the script goes to its standard input.

    Source:
        sbatch(1), Slurm 22.05.
    """
    return [
        "sbatch",
        "--parsable",
        *resource_options(request),
        # Slurm never starts a run a second time by itself: resume=True does. Of a sweep's points
        # nobody could name all that a preemption or a lost node has ended.
        *(["--requeue", "--open-mode=append"] if request.array else ["--no-requeue"]),
        "--export=ALL",
        warning_option(request.walltime_s),
        f"--chdir={request.folder}",
        # %a is the number of the task.
        f"--output={request.folder / ('job-%a.log' if request.array else 'job.log')}",
        *([f"--array={request.array}"] if request.array else []),
    ]


def warning_option(walltime_s: int) -> str:
    """Return sbatch's option for a warning before the time limit, at most 90 s before it.

    Source:
        sbatch(1), --signal, Slurm 22.05.
    """
    # B: only the script's shell gets it, which exec has replaced by our program.
    return f"--signal=B:USR1@{min(LONGEST_WARNING_S, walltime_s // 3)}"


def job_script(command: Sequence[str]) -> str:
    """Return the job's script, whose shell `command` replaces, so that it gets the signals."""
    return f"#!/bin/bash\nexec {shlex.join(command)}\n"


def job_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a job of its own: without the session's job, GPUs and hub login."""
    return {
        name: value
        for name, value in inherited(environ).items()
        if name in _KEPT or not name.startswith(_OF_THE_SESSION)
    }


def _walltime(walltime_s: int) -> str:
    minutes, seconds = divmod(walltime_s, 60)
    return f"{minutes}:{seconds:02}"
