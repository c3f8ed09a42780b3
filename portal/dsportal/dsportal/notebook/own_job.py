"""Queues the Slurm job of a run that has one of its own."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from dsportal.errors import SessionError, StepError
from dsportal.launch import commands
from dsportal.launch.layout import Layout
from dsportal.launch.sbatch import JobRequest
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
) -> Run:
    """Queue the job of a run whose folder is complete, with what comes with GPUs in this session.

    Raises:
        SessionError: If it would wait for ever. The folder is removed then.
        StepError: If Slurm refuses it, and then the folder is removed too, or does not answer.
    """
    request = JobRequest(
        name=folder.name,
        shape=shape,
        walltime_s=walltime_s,
        folder=folder.path,
        cores_per_gpu=session.cores_per_gpu,
        memory_mib_per_gpu=session.memory_mib_per_gpu,
        partition=session.partition,
        account=session.account,
        qos=session.qos,
    )
    try:
        job_id = commands.submit(request, command)
    except (SessionError, StepError) as error:
        # Without an answer the job may be in the queue, and then needs its folder.
        if isinstance(error, SessionError) or error.is_refused:
            forget(folder)
        raise
    # At once: `attach` finds the job by it if this kernel dies.
    folder.write_job_id(job_id)
    return Run(folder, job_id, show)


def forget(folder: RunFolder) -> None:
    """Remove the folder of a run that was not started, so that no list of runs has it."""
    shutil.rmtree(folder.path, ignore_errors=True)


def name_place(folder: RunFolder) -> str:
    """Return the path of a run's folder as users write it."""
    return str(folder.path).replace(str(Path.home()), "~", 1)
