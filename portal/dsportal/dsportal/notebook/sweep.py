"""`sweep`: one function with many values of its arguments, as one array of Slurm jobs."""

import inspect
import os
import shutil
from collections.abc import Mapping
from typing import Any, Literal

from dsportal.amounts import count
from dsportal.errors import LaunchError
from dsportal.launch import commands
from dsportal.launch.layout import Layout, is_count, parse_layout
from dsportal.launch.session import SessionAllocation, read_session
from dsportal.notebook.earlier_sweep import create_sweep, find_earlier, parse_rule
from dsportal.notebook.own_job import batch_command, name_place, submit_run
from dsportal.notebook.runner import check_arguments, make_plan, parse_hours
from dsportal.notebook.runs import show
from dsportal.notebook.sweep_handle import LOG_DIR, Sweep
from dsportal.notebook.sweep_table import Goal
from dsportal.task.call import call_name, make_call
from dsportal.task.folder import RunFolder
from dsportal.task.grid import MAX_POINTS, folder_of_point, grid_points, point_name
from dsportal.task.source import source_hash
from dsportal.task.sweep_folder import SweepFolder, SweepRecord


def sweep(
    train: Any,
    grid: Any,
    *,
    name: str = "",
    n: int | None = None,
    seed: int = 0,
    gpus: int = 1,
    nodes: int = 1,
    at_once: int = 8,
    hours: float | None = None,
    metric: str = "",
    best: Literal["largest", "smallest"] = "largest",
    stop_worst: Any = False,
    resume: bool = False,
    wait: bool = True,
) -> Any:
    """Run a function once for each point of a grid, as one array of Slurm jobs.

    The cell shows the state of each point, what it reported last, and the best so far. The jobs
    continue when the notebook is closed. The same call with the same name runs only the points that
    have no result yet. If the function has an argument `log_dir`, it gets a folder for each point,
    and `Sweep.tensorboard()` shows the curves of all.

    Args:
        train: A function, which may be defined in the notebook. It returns a number or a dictionary
            of numbers to compare.
        grid: Lists of values by argument, such as {"lr": [0.1, 0.01]}, of which every combination
            is a point; or a list with a dictionary for each point.
        name: Name of the sweep, by which the same call continues it; empty for a new sweep.
        n: Points to pick from the grid at random; None for all.
        seed: The same one picks the same points.
        gpus: GPUs for each point, and so ranks, as for `run`.
        nodes: Nodes for each point.
        at_once: Points that run at a time, 1 or more.
        hours: Time limit of each point; None for the length of the session.
        metric: Which result decides; empty for the first number, "loss" for what `report` was told
            if the function returns none.
        best: Whether the largest or the smallest is the best.
        stop_worst: True stops points whose loss is above the median of the others; one of Optuna's
            pruners decides in its place. The function has to `report` step, steps and loss.
        resume: True continues the newest sweep of this function with the same points, or that with
            the name, even if the function has changed: those that are done are not run again, and
            the others find their checkpoints.
        wait: False returns a `Sweep` at once.

    Returns:
        A row for each point: a DataFrame if pandas is installed, else a list of dictionaries. With
        wait=False the `Sweep`.

    Raises:
        SessionError: As for `run`.
        StepError: If Slurm refuses the array.
        LaunchError: If the grid is none, there is nothing to resume, the sweep of the name has
            another function or other points, or the function cannot be sent.
    """
    _check_words(best, at_once, n)
    rule = parse_rule(stop_worst)
    session = read_session(os.environ)
    shape = parse_layout(gpus, nodes, session.n_gpus)
    walltime_s = parse_hours(hours, session)
    points = grid_points(grid, n, seed, commands.max_array_size() or MAX_POINTS)
    logs = _takes_logs(train)
    for point in points:
        check_arguments(make_call(train, (), {**({LOG_DIR: ""} if logs else {}), **point}))
    record = SweepRecord(
        function=call_name(make_call(train, (), {})),
        source=source_hash(train),
        points=tuple(map(point_name, points)),
        metric=metric,
        is_smallest=best == "smallest",
    )
    folder = find_earlier(name, record, resume=resume)
    is_new = folder is None
    if folder is None:
        folder = create_sweep(name, record, points, rule)
    goal = Goal(metric=metric, is_smallest=record.is_smallest)
    to_run = Sweep(folder, points, goal).open_points()
    if to_run:
        for index in to_run:
            own = {LOG_DIR: _make_logs(folder, index, points[index])} if logs else {}
            call = make_call(train, (), {**own, **points[index]})
            run_folder = _make_point(folder.run(index))
            run_folder.write_plan(make_plan(session, shape, call))
            run_folder.write_call(call)
        tasks = f"0-{len(points) - 1}" if is_new else ",".join(map(str, to_run))
        _submit(folder, f"{tasks}%{at_once}", shape, session, walltime_s, is_new=is_new)
    show(_announce(folder, len(to_run), len(points), at_once))
    # Another one: it must not remember how points ended that run again.
    started = Sweep(folder, points, goal)
    return started.wait() if wait else started


def _submit(
    folder: SweepFolder,
    array: str,
    shape: Layout,
    session: SessionAllocation,
    walltime_s: int,
    *,
    is_new: bool,
) -> None:
    run = submit_run(
        RunFolder(folder.path),
        shape,
        session,
        walltime_s,
        batch_command(folder.path),
        array=array,
        name=f"sweep-{folder.title}",
        is_new=is_new,
    )
    if run.job_id is not None:
        folder.add_job(run.job_id)


def _check_words(best: object, at_once: object, n: object) -> None:
    if best not in {"largest", "smallest"}:
        raise LaunchError(f"You asked for best={best!r}; choose 'largest' or 'smallest'.")
    if not is_count(at_once) or at_once < 1:
        raise LaunchError(f"You asked for at_once={at_once!r}; give a number from 1 on.")
    if n is not None and not is_count(n):
        raise LaunchError(f"You asked for n={n!r}; give a number of points.")


def _announce(folder: SweepFolder, n_new: int, n_points: int, at_once: int) -> str:
    place = name_place(RunFolder(folder.path))
    others = f" The other {n_points - n_new} run or have ended." if n_new < n_points else ""
    if not n_new:
        return f"All {n_points} points run or have ended; none is started. Logs: {place}\n"
    job = folder.read_jobs()[-1]
    return (
        f"{count(n_new, 'point')} as job {job}, at most {at_once} at once.{others} Logs: {place}\n"
    )


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
