"""`run("train.ipynb")`: a notebook as a Slurm job, which runs it in its own kernel."""

import os
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from dsportal.amounts import format_duration
from dsportal.errors import LaunchError, SessionError
from dsportal.launch.layout import Layout
from dsportal.launch.session import SessionAllocation
from dsportal.notebook.handle import Run
from dsportal.notebook.own_job import forget, submit_run
from dsportal.notebook.runs import show
from dsportal.task.folder import RunFolder
from dsportal.task.folders import create_folder
from dsportal.task.notebook import check_parameters, files_beside, find_notebook
from dsportal.task.plan import Plan

# Set by the notebook server: the folder of the commands of sessions.
_COMMANDS = "PORTAL_COMMANDS"


def run_notebook(
    notebook: str | Path,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    shape: Layout,
    session: SessionAllocation,
    walltime_s: int,
    command: str = "",
    begin: str = "",
    mail: bool = False,
) -> Run:
    """Queue a job that runs a notebook.

    Args:
        args: What `run` was given besides.
        kwargs: The same by names.
        shape: All GPUs and nodes of the job.
        command: Path of dsportal on nodes; empty for that of the session.
        begin: As `JobRequest` has it.
    """
    unknown = [*map(repr, args), *(name for name in kwargs if name != "parameters")]
    if unknown:
        raise LaunchError(
            f"A notebook takes its values by parameters={{...}}, and got {', '.join(unknown)}."
        )
    path = find_notebook(notebook)
    parameters = check_parameters(kwargs.get("parameters") or {})
    words = [command or find_command(os.environ), "job", "run"]
    folder = create_folder(path.stem, datetime.now())
    write_notebook_plan(
        folder,
        path,
        parameters,
        shape,
        simulated_gpus=session.simulated_gpus,
        walltime_s=walltime_s,
    )
    command_line = [*words, str(folder.path)]
    started = submit_run(folder, shape, session, walltime_s, command_line, begin=begin, mail=mail)
    start = f", from {begin.replace('T', ' ')[:16]} on" if begin else ""
    show(
        f"{path.name} is queued as job {started.job_id} with {shape.words} for at most "
        f"{format_duration(walltime_s)}{start}. The executed notebook will be "
        f"{files_beside(path, folder).executed.name}, beside it.\n"
    )
    return started


def write_notebook_plan(
    folder: RunFolder,
    notebook: Path,
    parameters: dict[str, Any],
    shape: Layout,
    *,
    simulated_gpus: bool,
    walltime_s: int,
) -> None:
    """Write what the job needs: the plan with the `parameters`, and the notebook as it is now."""
    try:
        shutil.copyfile(notebook, folder.notebook_copy)
        folder.write_plan(
            Plan(
                n_ranks=shape.n_ranks,
                cores_per_rank=1,
                simulated_gpus=simulated_gpus,
                working_dir=str(notebook.parent),
                module_paths=(),
                n_results=1,
                n_nodes=shape.n_nodes,
                in_own_job=True,
                # Pages link it.
                notebook=str(files_beside(notebook, folder).executed),
                executes=str(notebook),
                parameters=parameters,
                walltime_s=walltime_s,
            )
        )
    except BaseException:
        forget(folder)
        raise


def find_command(environ: Mapping[str, str]) -> str:
    """Return the command `dsportal` of the session, which runs notebooks on the job's node."""
    place = Path(environ.get(_COMMANDS, "")) / "dsportal"
    if not place.is_absolute():
        # In a job that has activated a kernel it is on the PATH.
        place = Path(shutil.which("dsportal", path=environ.get("PATH", "")) or "")
    if not place.is_absolute():
        raise SessionError(
            "This Python does not know the portal's command dsportal, which runs notebooks. Start "
            "the notebook from a session of the portal."
        )
    return str(place)
