"""The command `dsportal job`: a training script or a notebook as a batch job."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

from dsportal.errors import LaunchError, printable
from dsportal.laptop.job_options import add_new, add_parameters
from dsportal.laptop.verbs import answer
from dsportal.launch.job_file import NOTEBOOK, PROGRAMS, render_job_file
from dsportal.packages.start import KERNEL
from dsportal.slurm.again import Again, new_series, parse_again
from dsportal.task.notebook import find_notebook, is_notebook, parse_parameter
from portal.activate_command import SCRIPT, find_activation
from portal.job_size import JobError, commands_folder, parse_size, read_rule

_PROGRAM_OF = {kernel: program for program, kernel in PROGRAMS.items() if kernel}


def add_commands(commands: Any) -> None:
    """Add `job` to `commands`, the subparsers of `dsportal`."""
    parser = commands.add_parser("job", help="batch jobs for training scripts and notebooks")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    new = add_new(actions, _add_file, environ=os.environ)
    new.set_defaults(run=new_job)
    run = actions.add_parser(
        "run",
        help="in a job: run a notebook to its end",
        description="Runs NOTEBOOK in its own kernel, in the job that 'dsportal job new' asks for. "
        "The executed notebook, its log and its result are beside it.",
    )
    run.add_argument(
        "--again", type=Path, metavar="SCRIPT", help="this job's own, of one that runs again"
    )
    add_parameters(run)
    run.add_argument("notebook", type=Path, help="notebook, or the folder of a run")
    run.set_defaults(run=run_job)


def _add_file(options: argparse.ArgumentParser) -> None:
    options.add_argument(
        "--output",
        type=Path,
        metavar="JOB",
        help="write a job file for sbatch in place of queueing it (- prints it)",
    )
    options.add_argument("--force", action="store_true", help="replace an existing job file")


def new_job(arguments: argparse.Namespace) -> int:
    """Queue a job, or write its file, or say when it would start."""
    # Not for each start of the command.
    from portal.job_submission import check_limits, forecast, log_of, submit_notebook, submit_script

    file = Path(arguments.file).absolute()
    program = _check(arguments, file)
    if arguments.kernel:
        find_activation(arguments.kernel)
    kernel = arguments.kernel or PROGRAMS.get(program, "") or os.environ.get(KERNEL, "")
    rule = read_rule(os.environ)
    again, begin = _when(arguments)
    request = replace(
        parse_size(arguments, file, rule),
        begin="" if begin is None else f"{begin:%Y-%m-%dT%H:%M:%S}",
        comment="" if again is None else again.mark,
    )
    command = str(commands_folder() / "dsportal")
    words = [word for text in arguments.parameters for word in ("-p", text)]

    def text() -> str:
        return render_job_file(
            request,
            script=file,
            arguments=words or arguments.arguments,
            program=program,
            command=command,
            activate=() if program == NOTEBOOK else _activate(kernel),
            simulated_gpus=rule.simulated_gpus,
            mpi=arguments.mpi,
            log=None if again is None else log_of(again),
        )

    if arguments.output and not arguments.forecast:
        return _write(arguments, text())
    check_limits(request)
    if arguments.forecast:
        message = forecast(request)
    elif program == NOTEBOOK and again is None:
        # It says so by itself, in cells too.
        with redirect_stdout(StringIO()) as said:
            submit_notebook(
                file,
                request,
                parameters_of(arguments.parameters),
                command=command,
                simulated_gpus=rule.simulated_gpus,
            )
        message = said.getvalue().strip()
    else:
        message = submit_script(file, request, text(), again)
    answer(arguments, {"message": message}, message)
    return 0


def _check(arguments: argparse.Namespace, file: Path) -> str:
    """Refuse what no job could run, and return how its ranks start, as `render_job_file` has it."""
    if not file.is_file():
        raise JobError(f"There is no file {file}. Paths start at {Path.cwd()}.")
    if is_notebook(file):
        if arguments.program or arguments.kernel or arguments.mpi:
            raise JobError(
                f"{file.name} runs in the kernel that it is saved with. Leave out --with, --kernel "
                "and --mpi, which are for scripts."
            )
        check_notebook(file, arguments.parameters)
        return NOTEBOOK
    if arguments.parameters or arguments.every:
        raise JobError(
            "-p and --every are for notebooks. Leave them out; a script's own options stand behind "
            f"it: dsportal job new {file.name} --lr=0.1"
        )
    program = arguments.program or _default_program(os.environ.get(KERNEL, ""))
    if arguments.mpi and program != "horovod":
        raise JobError(f"--mpi is for Horovod. Leave it out for --with {program}.")
    return program


def _default_program(kernel: str) -> str:
    """Return how ranks start if nothing is said, in the kernel that the command runs in, or ""."""
    return _PROGRAM_OF.get(kernel, "plain" if kernel else "horovod")


def _write(arguments: argparse.Namespace, text: str) -> int:
    path = arguments.output
    if path == Path("-"):
        sys.stdout.buffer.write(os.fsencode(text))
        return 0
    try:
        with path.open("wb" if arguments.force else "xb") as file:
            # Names of files need not be UTF-8.
            file.write(os.fsencode(text))
    except FileExistsError as error:
        raise JobError(f"{path} is there already. Choose another --output, or --force.") from error
    except OSError as error:
        raise JobError(f"{path} cannot be written: {error.strerror}.") from error
    message = printable(f"{path}: start it with\n    sbatch {path}")
    answer(arguments, {"message": message}, message)
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

    parameters = parameters_of(arguments.parameters)
    return start_notebook(arguments.notebook, parameters, arguments.again)


def check_notebook(notebook: Path, parameters: Sequence[str]) -> None:
    """Refuse a notebook that a job could not run, or parameters that it could not take."""
    try:
        find_notebook(notebook)
    except LaunchError as error:
        raise JobError(str(error)) from error
    parameters_of(parameters)


def parameters_of(texts: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a notebook by name, each given such as `lr=0.1`."""
    try:
        return dict(map(parse_parameter, texts))
    except LaunchError as error:
        raise JobError(str(error)) from error


def _activate(kernel: str) -> tuple[str, ...]:
    if not kernel:
        return ()
    return ("source", str(commands_folder() / SCRIPT), kernel)
