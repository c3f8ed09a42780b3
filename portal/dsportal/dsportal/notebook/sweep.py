"""`sweep`: one function with many values of its arguments, as one array of Slurm jobs."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from dsportal.amounts import count
from dsportal.errors import LaunchError
from dsportal.launch.layout import is_count, parse_layout
from dsportal.launch.session import read_session
from dsportal.notebook.own_job import batch_command, name_place, submit_run
from dsportal.notebook.runner import check_arguments, make_plan, parse_hours
from dsportal.notebook.runs import show
from dsportal.notebook.sweep_handle import LOG_DIR, Sweep
from dsportal.notebook.sweep_table import Goal
from dsportal.task.call import call_name, make_call
from dsportal.task.folder import RunFolder
from dsportal.task.folders import create_folder
from dsportal.task.grid import folder_of_point, grid_points, point_name
from dsportal.task.sweep_folder import SweepFolder, find_sweep, sweeps_folder


def sweep(
    train: Any,
    grid: Any,
    *,
    gpus: int = 1,
    nodes: int = 1,
    at_once: int = 8,
    hours: float | None = None,
    metric: str = "",
    best: Literal["largest", "smallest"] = "largest",
    resume: bool = False,
    wait: bool = True,
) -> Any:
    """Run a function once for each point of a grid, as one array of Slurm jobs.

    The cell shows how many points are in which state, and the best so far. The jobs continue when
    the notebook is closed. If the function has an argument `log_dir`, it gets a folder for each
    point, and `Sweep.tensorboard()` shows the curves of all.

    Args:
        train: A function, which may be defined in the notebook. It returns a number or a dictionary
            of numbers to compare.
        grid: Lists of values by argument, such as {"lr": [0.1, 0.01]}, of which every combination
            is a point; or a list with a dictionary for each point.
        gpus: GPUs for each point, and so ranks, as for `run`.
        nodes: Nodes for each point.
        at_once: Points that run at a time, 1 or more.
        hours: Time limit of each point; None for the length of the session.
        metric: Which result decides; empty for the first number.
        best: Whether the largest or the smallest is the best.
        resume: True continues the newest sweep of this function with the same points: those that
            are done are not run again, and the others find their checkpoints.
        wait: False returns a `Sweep` at once.

    Returns:
        A row for each point: a DataFrame if pandas is installed, else a list of dictionaries. With
        wait=False the `Sweep`.

    Raises:
        SessionError: As for `run`.
        StepError: If Slurm refuses the array.
        LaunchError: If the grid is none, there is nothing to resume, or the function cannot be
            sent.
    """
    if best not in {"largest", "smallest"}:
        raise LaunchError(f"You asked for best={best!r}; choose 'largest' or 'smallest'.")
    if not is_count(at_once) or at_once < 1:
        raise LaunchError(f"You asked for at_once={at_once!r}; give a number from 1 on.")
    points = grid_points(grid)
    logs = _takes_logs(train)
    for point in points:
        check_arguments(make_call(train, (), {**({LOG_DIR: ""} if logs else {}), **point}))
    session = read_session(os.environ)
    shape = parse_layout(gpus, nodes, session.n_gpus)
    walltime_s = parse_hours(hours, session)
    goal = Goal(metric=metric, is_smallest=best == "smallest")
    name = call_name(make_call(train, (), {}))
    folder = _folder_of(name, points, resume=resume)
    to_run = Sweep(folder, points, goal).open_points()
    if to_run:
        for index in to_run:
            own = {LOG_DIR: _make_logs(folder, index, points[index])} if logs else {}
            call = make_call(train, (), {**own, **points[index]})
            run_folder = _make_point(folder.run(index))
            run_folder.write_plan(make_plan(session, shape, call))
            run_folder.write_call(call)
        tasks = ",".join(map(str, to_run)) if resume else f"0-{len(points) - 1}"
        job = submit_run(
            RunFolder(folder.path),
            shape,
            session,
            walltime_s,
            batch_command(folder.path),
            array=f"{tasks}%{at_once}",
            is_new=not resume,
        )
        show(
            f"{count(len(to_run), 'point')} as job {job.job_id}, at most {at_once} at once. "
            f"Logs: {name_place(RunFolder(folder.path))}\n"
        )
    started = Sweep(folder, points, goal)
    return started.wait() if wait else started


def _folder_of(name: str, points: Sequence[Mapping[str, Any]], *, resume: bool) -> SweepFolder:
    names = [point_name(each) for each in points]
    if resume:
        found = find_sweep(name, names)
        if found is None:
            raise LaunchError(
                f"No earlier sweep of {name} has these points, so there is nothing to "
                f"resume. Leave resume out. Sweeps are in {sweeps_folder()}."
            )
        return found
    parent = sweeps_folder()
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = SweepFolder(create_folder(name, datetime.now(), parent).path)
    folder.write_points(names)
    return folder


def _make_point(folder: RunFolder) -> RunFolder:
    if folder.path.is_symlink():
        raise LaunchError(
            f"{folder.path} is a link, and what is in the folder of a point is replaced. Put the "
            "folder itself there, or start the sweep without resume."
        )
    folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in folder.path.iterdir():
        # What an earlier try saved is what the next one resumes from.
        if each != folder.checkpoints:
            is_folder = each.is_dir() and not each.is_symlink()
            shutil.rmtree(each) if is_folder else each.unlink()
    return folder


def _takes_logs(train: object) -> bool:
    try:
        return callable(train) and LOG_DIR in inspect.signature(train).parameters
    # Functions in C may not say.
    except (TypeError, ValueError):
        return False


def _make_logs(folder: SweepFolder, index: int, point: Mapping[str, Any]) -> str:
    logs = folder.logs / folder_of_point(index, point)
    logs.mkdir(parents=True, exist_ok=True)
    return str(logs)
