"""Starts a notebook in the job that a job file asked for, or that `run` has queued."""

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from dsportal.alone import plan_of_job
from dsportal.errors import LaunchError
from dsportal.launch.layout import Layout
from dsportal.notebook.notebook_job import write_notebook_plan
from dsportal.slurm.errors import PortalError
from dsportal.task.folder import RunFolder
from dsportal.task.folders import create_folder
from dsportal.task.notebook import find_notebook
from portal.batch.notebook import run_notebook


class NotebookJobError(PortalError):
    """The notebook cannot be started."""


def start_notebook(path: Path, parameters: dict[str, Any]) -> int:
    """Run a notebook in this job.

    Args:
        path: The notebook, or the folder of a run that `run` has queued.
        parameters: For the cell tagged "parameters"; those of a run are in its folder.

    Returns:
        Exit status for Slurm.
    """
    try:
        folder = RunFolder(path) if path.is_dir() else _make_folder(path, parameters)
    except LaunchError as error:
        raise NotebookJobError(str(error)) from error
    status = run_notebook(folder)
    end = folder.read_end()
    # In the job's own output, too.
    if end is not None and end.reason:
        print(f"dsportal: {end.reason}", flush=True)
    return status


def _make_folder(path: Path, parameters: dict[str, Any]) -> RunFolder:
    notebook = find_notebook(path)
    job = plan_of_job(os.environ)
    folder = create_folder(notebook.stem, datetime.now())
    shape = Layout(n_ranks=job.n_ranks, n_nodes=job.n_nodes)
    write_notebook_plan(folder, notebook, parameters, shape, simulated_gpus=job.simulated_gpus)
    folder.write_job_id(int(os.environ["SLURM_JOB_ID"]))
    return folder
