"""Entry point of a run with a job of its own, on the job's first node.

Started as `python -m dsportal.notebook.batch RUN_FOLDER`, in a sweep's array with its folder.

It serves the rendezvous, starts the ranks on all nodes and writes their logs, so that the run no
longer needs the notebook.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from dsportal.errors import LaunchError
from dsportal.launch.step import JobStep
from dsportal.notebook.point_watch import PointWatch
from dsportal.notebook.runs import show
from dsportal.notebook.supervise import supervise
from dsportal.rendezvous.network import this_node
from dsportal.task.folder import RunFolder
from dsportal.task.plan import End, Failure
from dsportal.task.sweep_folder import SweepFolder

# Slurm sends it some time before the limit, and the site may send it before a preemption.
WARNING_SIGNAL = signal.SIGUSR1


class JobToldToEnd(BaseException):
    """Slurm told the job to end. A BaseException, so that no handler of errors catches it."""


def main(argv: list[str]) -> int:
    """Return the exit status of `run_ranks` or `run_point` for the folder in `argv`."""
    folder = Path(argv[1])
    # Slurm sets it for the tasks of an array alone; jobs do not inherit it.
    task = os.environ.get("SLURM_ARRAY_TASK_ID")
    return run_ranks(RunFolder(folder)) if task is None else run_point(folder, int(task))


def run_point(folder: Path, index: int) -> int:
    """Run point `index` of the sweep in `folder`.

    Returns:
        As for `run_ranks`; 0 if it was stopped as one of the worst points.

    Source:
        sbatch(1), SLURM_RESTART_COUNT, Slurm 22.05.
    """
    point = SweepFolder(folder).run(index)
    if os.environ.get("SLURM_RESTART_COUNT", "0") != "0":
        point.forget_end()
    watch = PointWatch(SweepFolder(folder), index)
    status = run_ranks(point, shown=(0,), watch=watch)
    if watch.finish():
        status = 0
    end = point.read_end()
    if end is not None and end.reason:
        show(f"{end.reason}\n")
    return status


def run_ranks(folder: RunFolder, shown: Sequence[int] = (), watch: PointWatch | None = None) -> int:
    """Run the ranks of a run on all nodes of this job.

    Args:
        shown: Ranks whose output is also written to the job's own output.

    Returns:
        Exit status for Slurm: srun's, or 0 if the ranks saved a checkpoint to resume from.
    """
    signal.signal(signal.SIGTERM, told_to_end)
    try:
        end = supervise(
            folder,
            folder.read_plan(),
            job_id=int(os.environ["SLURM_JOB_ID"]),
            shown=shown,
            show=show,
            on_start=partial(_begin, watch),
            on_pace=(lambda pace: None) if watch is None else watch.note,
        )
    except JobToldToEnd:
        # As a shell reports a program that a signal ended.
        return 128 + signal.SIGTERM
    except LaunchError as error:
        failure = Failure(
            rank=0, node=this_node(), time_s=time.time(), summary=str(error), traceback_text=""
        )
        folder.write_failure(failure)
        # Nothing else tells the notebook: it reads the run's folder.
        folder.write_end(End(status=1, reason=str(error)))
        return 1
    return 0 if end.is_saved else end.status


def told_to_end(number: int, frame: FrameType | None) -> NoReturn:
    """Raise JobToldToEnd, once; a handler of SIGTERM."""
    # A second signal must not interrupt the clean-up.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise JobToldToEnd


def _begin(watch: PointWatch | None, step: JobStep) -> None:
    if watch is not None:
        watch.begin(step)
    # Slurm signals the batch script alone; the ranks learn of it through their step.
    signal.signal(WARNING_SIGNAL, lambda number, frame: step.warn())


if __name__ == "__main__":
    sys.exit(main(sys.argv))
