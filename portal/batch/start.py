"""Starts a notebook in the job that a job file asked for, or that `run` has queued."""

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from dsportal.alone import plan_of_job
from dsportal.errors import LaunchError
from dsportal.launch.layout import Layout
from dsportal.launch.successor import Successor
from dsportal.notebook.notebook_job import write_notebook_plan
from dsportal.slurm.errors import PortalError
from dsportal.task.folder import RunFolder
from dsportal.task.folders import create_folder
from dsportal.task.notebook import find_notebook
from dsportal.task.sweep_folder import SweepFolder
from portal.batch.notebook import run_notebook


class NotebookJobError(PortalError):
    """The notebook cannot be started."""


def start_notebook(path: Path, parameters: dict[str, Any], script: Path | None = None) -> int:
    """Run a notebook in this job.

    Args:
        path: The notebook, or the folder of what `run` or `sweep` has queued.
        parameters: For the cell tagged "parameters"; those of a run are in its folder.
        script: The job's own script, if the job runs again and again.

    Returns:
        Exit status for Slurm: that of the notebook, or 1 if it will not run again though it should.
    """
    if script is None:
        return _run(_folder_of(path, parameters))
    try:
        successor = Successor.read(script, os.environ)
    except LaunchError as error:
        raise NotebookJobError(str(error)) from error
    if successor.is_unwanted():
        _say(f"You cancelled the run before, job {successor.before}, so this was the last one.")
        return 0
    # Before the notebook: whatever becomes of it and of this node, the next run is there.
    problem = successor.queue(datetime.now())
    folder = None
    try:
        folder = _folder_of(path, parameters)
        status = _run(folder)
    except NotebookJobError as error:
        _say(error.message)
        status = 1
    if problem and (problem := successor.queue(datetime.now())):
        problem = f"It does not run again {successor.again.words}: {problem}"
        _say(problem)
        if folder is not None and (end := folder.read_end()) is not None:
            words = f"{end.reason} {problem}".strip()
            is_done = end.word == "done"
            end = replace(end, progress=problem) if is_done else replace(end, reason=words)
            folder.write_end(end)
        return status or 1
    return status


def _folder_of(path: Path, parameters: dict[str, Any]) -> RunFolder:
    try:
        return _given(path) if path.is_dir() else _make_folder(path, parameters)
    except LaunchError as error:
        raise NotebookJobError(str(error)) from error


def _given(path: Path) -> RunFolder:
    # Slurm sets it for the tasks of an array alone; jobs do not inherit it.
    task = os.environ.get("SLURM_ARRAY_TASK_ID")
    if task is None:
        return RunFolder(path)
    point = SweepFolder(path).run(int(task))
    # Slurm may run it again.
    point.forget_end()
    return point


def _run(folder: RunFolder) -> int:
    status = run_notebook(folder)
    end = folder.read_end()
    if end is not None and end.reason:
        _say(end.reason)
    return status


def _say(words: str) -> None:
    # In the job's own output.
    print(f"dsportal: {words}", flush=True)


def _make_folder(path: Path, parameters: dict[str, Any]) -> RunFolder:
    notebook = find_notebook(path)
    job = plan_of_job(os.environ)
    folder = create_folder(notebook.stem, datetime.now())
    shape = Layout(n_ranks=job.n_ranks, n_nodes=job.n_nodes)
    # An older Slurm tells neither.
    began_s, ends_s = (int(os.environ.get(f"SLURM_JOB_{at}_TIME", 0)) for at in ("START", "END"))
    write_notebook_plan(
        folder,
        notebook,
        parameters,
        shape,
        simulated_gpus=job.simulated_gpus,
        walltime_s=max(0, ends_s - began_s) if began_s else 0,
    )
    folder.write_job_id(int(os.environ["SLURM_JOB_ID"]))
    return folder
