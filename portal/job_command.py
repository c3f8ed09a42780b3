"""The command `dsportal job`: a batch job for a training script or a notebook."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from dsportal.errors import LaunchError, printable
from dsportal.launch.job_file import NOTEBOOK, PROGRAMS, render_job_file
from dsportal.packages.start import KERNEL
from dsportal.slurm.again import EVERY, Again, new_series, parse_again
from dsportal.task.notebook import find_notebook, is_notebook, parse_parameter
from portal.activate_command import SCRIPT, find_activation
from portal.job_size import JobError, add_size, commands_folder, parse_size, read_rule

_PROGRAM_OF = {kernel: program for program, kernel in PROGRAMS.items() if kernel}


def add_commands(commands: Any) -> None:
    """Add `job` to `commands`, the subparsers of `dsportal`."""
    parser = commands.add_parser("job", help="batch jobs for training scripts and notebooks")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    new = actions.add_parser(
        "new",
        help="write a job file for sbatch",
        description="Writes a job file for SCRIPT with one rank for each GPU, and the portal's "
        "cores and memory for each rank. A notebook runs once, in its own kernel, with all GPUs. "
        "Submit it with: sbatch SCRIPT.job",
    )
    add_size(new)
    new.add_argument(
        "--with",
        dest="program",
        choices=tuple(PROGRAMS),
        default=_default_program(os.environ.get(KERNEL, "")),
        help="launcher of the ranks, plain for any program (default: %(default)s)",
    )
    new.add_argument(
        "--kernel",
        default="",
        help="kernel whose Python runs the script, such as an environment of yours (default: "
        "tensorflow for horovod, pytorch for torch, for plain the active one or else the node's "
        "python3)",
    )
    new.add_argument("--mpi", action="store_true", help="Horovod over MPI instead of Gloo")
    new.add_argument(
        "--output", type=Path, metavar="FILE", help="job file (default: SCRIPT.job, - prints it)"
    )
    new.add_argument(
        "--submit", action="store_true", help="queue a notebook at once, without a job file"
    )
    new.add_argument(
        "--forecast", action="store_true", help="only say when it would start, or why it would not"
    )
    new.add_argument(
        "--at", metavar="HH:MM", default="", help="begin then, by the clock of the cluster"
    )
    new.add_argument(
        "--every",
        choices=EVERY,
        help="run a notebook again and again, at the time of --at, or else at that of now",
    )
    new.add_argument("--force", action="store_true", help="replace an existing file")
    new.add_argument("script", type=Path, help="training script, or a notebook")
    # The script's own options too, which argparse would else take for ours.
    new.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        help="arguments of the script, or parameters of the notebook, such as -p lr=0.1",
    )
    new.set_defaults(run=write_job)
    run = actions.add_parser(
        "run",
        help="in a job: run a notebook to its end",
        description="Runs NOTEBOOK in its own kernel, in the job that a job file of 'dsportal job "
        "new' asks for. The executed notebook, its log and its result are beside it.",
    )
    run.add_argument(
        "--again", type=Path, metavar="SCRIPT", help="this job's own, of one that runs again"
    )
    run.add_argument("notebook", type=Path, help="notebook, or the folder of a run")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="parameters, such as -p lr=0.1")
    run.set_defaults(run=run_job)


def _default_program(kernel: str) -> str:
    """Return how ranks start if nothing is said, in the kernel that the command runs in, or ""."""
    return _PROGRAM_OF.get(kernel, "plain" if kernel else "horovod")


def write_job(arguments: argparse.Namespace) -> int:
    """Write the job file."""
    # Not for each start of the command.
    from portal.job_submission import (
        check_limits,
        forecast,
        log_of,
        submit_again,
        submit_notebook,
    )

    script = arguments.script.absolute()
    if not script.is_file():
        raise JobError(f"There is no script {script}. Paths start at {Path.cwd()}.")
    if is_notebook(script):
        check_notebook(script, arguments.arguments)
    elif arguments.submit or arguments.every:
        raise JobError(
            "--submit and --every are for notebooks. Leave them out, and submit the job file: "
            "sbatch."
        )
    if arguments.mpi and arguments.program != "horovod":
        raise JobError(f"--mpi is for Horovod. Leave it out for --with {arguments.program}.")
    if arguments.kernel:
        find_activation(arguments.kernel)
    kernel = arguments.kernel or PROGRAMS[arguments.program] or os.environ.get(KERNEL, "")
    rule = read_rule(os.environ)
    again, begin = _when(arguments)
    request = replace(
        parse_size(arguments, script, rule),
        begin="" if begin is None else f"{begin:%Y-%m-%dT%H:%M:%S}",
        comment="" if again is None else again.mark,
    )
    if arguments.forecast or arguments.submit:
        check_limits(request)
    command = str(commands_folder() / "dsportal")
    if arguments.forecast:
        print(forecast(request))
        return 0
    if arguments.submit and again is None:
        submit_notebook(
            script,
            request,
            parameters_of(arguments.arguments),
            command=command,
            simulated_gpus=rule.simulated_gpus,
        )
        return 0
    text = render_job_file(
        request,
        script=script,
        arguments=arguments.arguments,
        program=NOTEBOOK if is_notebook(script) else arguments.program,
        command=command,
        activate=() if is_notebook(script) else _activate(kernel),
        simulated_gpus=rule.simulated_gpus,
        mpi=arguments.mpi,
        log=None if again is None else log_of(again),
    )
    if arguments.submit and again is not None:
        submit_again(script, request, text, again)
        return 0
    if arguments.output == Path("-"):
        sys.stdout.buffer.write(os.fsencode(text))
        return 0
    path = arguments.output or script.with_suffix(".job")
    try:
        with path.open("wb" if arguments.force else "xb") as file:
            # Names of files need not be UTF-8.
            file.write(os.fsencode(text))
    except FileExistsError as error:
        raise JobError(f"{path} is there already. Choose --output, or --force.") from error
    except OSError as error:
        raise JobError(f"{path} cannot be written: {error.strerror}.") from error
    print(printable(f"{path}: start it with\n    sbatch {path}"))
    return 0


def _when(arguments: argparse.Namespace) -> tuple[Again | None, datetime | None]:
    """Return when the job runs again, if it does, and when it begins; None for at once."""
    now = datetime.now()
    again = parse_again(arguments.every or "day", arguments.at or f"{now:%H:%M}", new_series())
    begin = again.after(now) if arguments.at else None
    return (again if arguments.every else None), begin


def run_job(arguments: argparse.Namespace) -> int:
    """Run a notebook to its end in this job."""
    # The head node's environment has no Jupyter kernels.
    from portal.batch.start import start_notebook

    parameters = parameters_of(arguments.arguments)
    return start_notebook(arguments.notebook, parameters, arguments.again)


def check_notebook(notebook: Path, words: Sequence[str]) -> None:
    """Refuse a notebook that a job could not run, or parameters that it could not take."""
    try:
        find_notebook(notebook)
    except LaunchError as error:
        raise JobError(str(error)) from error
    parameters_of(words)


def parameters_of(words: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a notebook in a command line, such as `-p lr=0.1 -p epochs=3`."""
    parser = argparse.ArgumentParser(prog="dsportal job new NOTEBOOK", add_help=False)
    parser.add_argument("-p", dest="parameters", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args(words).parameters
    try:
        return dict(map(parse_parameter, given))
    except LaunchError as error:
        raise JobError(str(error)) from error


def _activate(kernel: str) -> tuple[str, ...]:
    if not kernel:
        return ()
    return ("source", str(commands_folder() / SCRIPT), kernel)
