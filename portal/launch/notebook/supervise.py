"""Starts the ranks of a run, writes their logs and notes how they ended.

The notebook does this for a run inside its session, and the first node of the job for a run that
has a job of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BytesIO

from portal.launch.notebook.output import RankOutput
from portal.launch.notebook.progress_reader import PaceReader
from portal.launch.rendezvous.store import Store
from portal.launch.slurm.step import Step, step_argv
from portal.launch.task.environment import RENDEZVOUS_VARIABLE
from portal.launch.task.folder import RunFolder
from portal.launch.task.plan import End, Plan
from portal.launch.task.throughput import Pace


def drive(
    folder: RunFolder,
    plan: Plan,
    *,
    job_id: int,
    node: str,
    host: str,
    shown: Sequence[int],
    show: Callable[[str], object],
    on_start: Callable[[Step], object] = lambda step: None,
    on_pace: Callable[[Pace, bool], object] = lambda pace, is_end: None,
    may_leave_out: bool = True,
) -> End:
    """Run the ranks to their end.

    Args:
        folder: Folder of the run, with its plan and call.
        plan: The run's plan.
        job_id: The Slurm job to run in.
        node: The session's node; empty for all nodes of the job.
        host: IPv4 address for the rendezvous to listen on.
        shown: Ranks whose output is shown.
        show: Takes text to show.
        on_start: Takes the step when it has been started.
        on_pace: Takes how far the ranks are, once a second where they report it, and whether that
            is the last; called from another thread.
        may_leave_out: Whether a part of very long output is not shown.

    Returns:
        How the ranks ended; it is written down too. What ends this function from outside, such as
        the interrupt button, ends all ranks first.

    Raises:
        BaseException: What ended this function from outside.
    """
    name = folder.path.name
    argv = step_argv(
        plan,
        job_id=job_id,
        name=name,
        node=node,
        working_dir=folder.path,
        command=[sys.executable, "-m", "portal.launch.worker.rank", str(folder.path)],
    )
    log_paths = [folder.log_path(rank) for rank in range(plan.n_ranks)]
    with (
        Store(host) as store,
        RankOutput(log_paths, shown, show, may_leave_out=may_leave_out) as output,
        PaceReader(store, folder, plan.n_ranks, on_pace),
    ):
        address, port = store.horovod_address
        environ = {
            **os.environ,
            "SLURM_JOB_ID": str(job_id),
            RENDEZVOUS_VARIABLE: f"{address} {port}",
        }
        step = Step(argv, environ, name)
        try:
            on_start(step)
            for line in step.lines(on_pause=output.flush):
                output.feed(line)
            status = step.wait()
        except BaseException:
            for line in BytesIO(step.stop()):
                output.feed(line)
            with suppress(OSError):
                _note(folder, End(status=1, was_stopped=True))
            raise
        lines = tuple(output.slurm_lines)
    return _note(folder, End(status=status, slurm_lines=lines))


def _note(folder: RunFolder, end: End) -> End:
    if folder.saved_mark.exists():
        end = End(status=end.status, is_saved=True, slurm_lines=end.slurm_lines)
    folder.write_end(end)
    return end
