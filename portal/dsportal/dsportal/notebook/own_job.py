"""Queues the Slurm job of a run that has one of its own."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from dsportal.errors import SessionError, StepError
from dsportal.launch import commands
from dsportal.launch.layout import Layout
from dsportal.launch.outside import read_image_start
from dsportal.launch.sbatch import JobRequest, mail_to
from dsportal.launch.session import SessionAllocation
from dsportal.notebook.handle import Run
from dsportal.notebook.runs import show
from dsportal.task.folder import RunFolder


def submit_run(
    folder: RunFolder,
    shape: Layout,
    session: SessionAllocation,
    walltime_s: int,
    command: Sequence[str],
    *,
    array: str = "",
    name: str = "",
    begin: str = "",
    mail: bool = False,
    is_new: bool = True,
) -> Run:
    """Queue the job of a run whose folder is complete, with what comes with GPUs in this session.

    Args:
        folder: Of the run, or of a sweep.
        shape: Ranks and nodes of the job, or of each task of an array.
        array: Tasks of an array, as sbatch has them; empty for a single job.
        name: Name of the job; empty for that of the folder.
        begin: When it may start, as `JobRequest` has it.
        is_new: True if the folder holds nothing that an earlier job has left.

    Raises:
        SessionError: If it would wait for ever. A new folder is removed then.
        StepError: If Slurm refuses it, and then a new folder is removed too, or does not answer.
    """
    request = JobRequest(
        name=name or folder.name,
        shape=shape,
        walltime_s=walltime_s,
        folder=folder.path,
        cores_per_gpu=session.cores_per_gpu,
        memory_mib_per_gpu=session.memory_mib_per_gpu,
        partition=session.partition,
        account=session.account,
        qos=session.qos,
        array=array,
        begin=begin,
        mail_to=mail_to(os.environ, is_wanted=mail),
    )
    try:
        job_id = commands.submit(request, command)
    except (SessionError, StepError) as error:
        # Without an answer the job may be in the queue, and then needs its folder.
        if is_new and (isinstance(error, SessionError) or error.is_refused):
            forget(folder)
        raise
    # At once: `attach` finds the job by it if this kernel dies.
    folder.write_job_id(job_id)
    return Run(folder, job_id, show)


def batch_command(folder: Path) -> list[str]:
    """Return the command of a job that runs the ranks of a run, or a point of a sweep."""
    # The job starts on the node itself; only its ranks are in the image of this kernel.
    image = read_image_start(os.environ)
    python = sys.executable if image is None else image.python
    return [python, "-m", "dsportal.notebook.batch", str(folder)]


def forget(folder: RunFolder) -> None:
    """Remove the folder of a run that was not started, so that no list of runs has it."""
    shutil.rmtree(folder.path, ignore_errors=True)


def name_place(folder: RunFolder) -> str:
    """Return the path of a run's folder as users write it."""
    return str(folder.path).replace(str(Path.home()), "~", 1)
