"""Renders job files for sbatch: a training script on several nodes, or a notebook. Pure."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from dsportal.errors import LaunchError
from dsportal.launch.sbatch import JobRequest, resource_options, warning_option

# Kernel whose Python each program runs in; "plain" needs none.
PROGRAMS = {"horovod": "tensorflow", "torch": "pytorch", "plain": ""}
# Becomes the Python of a kernel: script for the shell, kernel, folder of a sweep.
_IN_KERNEL = 'source "$0" "$1" || exit 1; exec python -m dsportal.notebook.batch "$2"'
# Runs in the kernel that it names itself.
NOTEBOOK = "notebook"


def render_job_file(
    request: JobRequest,
    *,
    script: Path,
    arguments: Sequence[str],
    program: str,
    command: str,
    activate: Sequence[str],
    simulated_gpus: bool,
    mpi: bool = False,
    log: Path | None = None,
) -> str:
    """Return the text of a job file.

    Args:
        script: Absolute path of the training script.
        program: A key of PROGRAMS, or NOTEBOOK.
        command: Path of the command dsportal on nodes, which runs notebooks.
        activate: Command of the shell after which python is the program's; empty for the node's
            own python3, with "plain" only.
        log: Of a notebook that runs again and again: what its jobs themselves print.
    """
    options = resource_options(request)
    if log is None:
        options += ["--output=%x-%j.out", "--no-requeue"]
    else:
        # A job that a node could not start must not be the last one.
        options += [f"--chdir={request.folder}", f"--output={log}", "--open-mode=append"]
        options += ["--requeue"]
    if program != "plain":
        # A plain program would die of the signal.
        options.append(warning_option(request.walltime_s))
    words = [str(script), *arguments]
    if any("\n" in word for word in [*options, *words]):
        raise LaunchError("A name with a line end cannot stand in a job file. Rename the script.")
    if program == "plain":
        line = f"srun {shlex.join(['python' if activate else 'python3', *words])}"
        note = "# One process for each GPU, started by Slurm; replace the line by any program."
    elif program == NOTEBOOK:
        again = "" if log is None else ' --again "$0"'
        line = f"exec {shlex.join([command, 'job', 'run'])}{again} {shlex.join(words)}"
        note = "# The executed notebook and its log are beside it, and runs() lists the run."
    else:
        line = f"exec {shlex.join(['python', '-m', 'dsportal.alone', *words])}"
        note = "# One rank for each GPU; their logs are in ~/portal-runs, and runs() lists the run."
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {_quoted(option)}" for option in options),
        "",
        *(["export PORTAL_GPUS_SIMULATED=1"] if simulated_gpus else []),
        *(["export PORTAL_MPI=1"] if mpi else []),
        *([f"{shlex.join(activate)} || exit 1"] if activate else []),
        note,
        line,
    ]
    return "\n".join(lines) + "\n"


def in_kernel(activate: Path, kernel: str) -> list[str]:
    """Return what runs a point of a sweep in a kernel's Python, if the folder is its last word."""
    return ["bash", "-c", _IN_KERNEL, str(activate), kernel]


def _quoted(option: str) -> str:
    # sbatch reads these lines itself; quotation marks keep blanks together.
    return f'"{option}"' if " " in option else option
