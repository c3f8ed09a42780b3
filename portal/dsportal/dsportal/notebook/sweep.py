"""`sweep`: one function, script or notebook with many values, as one array of Slurm jobs."""

import os
import shutil
from collections.abc import Sequence
from typing import Any, Literal

from dsportal.amounts import count
from dsportal.errors import LaunchError
from dsportal.launch import array_tasks
from dsportal.launch.layout import Layout, is_count, parse_layout
from dsportal.launch.session import SessionAllocation, read_session
from dsportal.notebook.earlier_sweep import create_sweep, find_earlier, parse_rule
from dsportal.notebook.own_job import name_place, submit_run
from dsportal.notebook.runner import parse_hours
from dsportal.notebook.runs import show
from dsportal.notebook.sweep_handle import Sweep
from dsportal.notebook.sweep_table import Goal
from dsportal.notebook.swept import SweptNotebook, make_swept
from dsportal.task.folder import RunFolder
from dsportal.task.grid import MAX_POINTS, grid_points, point_name
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
    mail: bool = False,
) -> Any:
    """Run a function once for each point of a grid, as one array of Slurm jobs.

    The cell shows the state of each point, what it reported last, and the best so far. The jobs
    continue when the notebook is closed. The same call with the same name runs only the points that
    have no result yet. If the function has an argument `log_dir`, it gets a folder for each point,
    and `Sweep.tensorboard()` shows the curves of all.

    Args:
        train: A function, which may be defined in the notebook. It returns a number or a dictionary
            of numbers to compare. Or the path of a notebook, which gets the values as its
            parameters, and whose last result is compared. Or the path of a script, which gets them
            as options such as --lr=0.1, and whose reported loss is compared with metric="loss".
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
        mail: True has Slurm write you when the last point has ended, if your site's Slurm sends
            mail.

    Returns:
        A row for each point: a DataFrame if pandas is installed, else a list of dictionaries. With
        wait=False the `Sweep`.

    Raises:
        SessionError: As for `run`.
        StepError: If Slurm refuses the array.
        LaunchError: If the grid is none, there is nothing to resume, the sweep of the name has
            another function or other points, or the function cannot be sent.
    """
    session = read_session(os.environ)
    started = start_sweep(
        train,
        grid,
        session=session,
        shape=parse_layout(gpus, nodes, session.n_gpus),
        walltime_s=parse_hours(hours, session),
        name=name,
        n=n,
        seed=seed,
        at_once=at_once,
        metric=metric,
        best=best,
        stop_worst=stop_worst,
        resume=resume,
        mail=mail,
    )
    return started.wait() if wait else started


def start_sweep(
    train: Any,
    grid: Any,
    *,
    session: SessionAllocation,
    shape: Layout,
    walltime_s: int,
    name: str = "",
    n: int | None = None,
    seed: int = 0,
    at_once: int = 8,
    metric: str = "",
    best: str = "largest",
    stop_worst: Any = False,
    resume: bool = False,
    command: Sequence[str] = (),
    mail: bool = False,
) -> Sweep:
    """Queue the points of a sweep that have no result, and say so.

    The arguments `train`, `grid`, `n`, `at_once` and `stop_worst` are as for `sweep`, and so are
    all others that it has. `command` runs a point of a notebook or a script, if the folder of the
    sweep is its last word; empty for the commands and the Python of the session.
    """
    _check_words(best, at_once, n)
    rule = parse_rule(stop_worst)
    swept = make_swept(train, session, shape, walltime_s, command)
    if rule is not None and isinstance(swept, SweptNotebook):
        raise LaunchError(
            "A notebook reports no loss, so stop_worst is for functions. Leave it out."
        )
    points = grid_points(grid, n, seed, array_tasks.max_array_size() or MAX_POINTS)
    for point in points:
        swept.check(point)
    record = SweepRecord(
        function=swept.name,
        source=swept.source,
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
            _make_point(folder.run(index))
            swept.write(folder, index, points[index])
        tasks = f"0-{len(points) - 1}" if is_new else ",".join(map(str, to_run))
        run = submit_run(
            RunFolder(folder.path),
            shape,
            session,
            walltime_s,
            swept.command(folder.path),
            array=f"{tasks}%{at_once}",
            name=f"sweep-{folder.title}",
            is_new=is_new,
            mail=mail,
        )
        if run.job_id is not None:
            folder.add_job(run.job_id)
    show(_announce(folder, len(to_run), len(points), at_once))
    # Another one: it must not remember how points ended that run again.
    return Sweep(folder, points, goal)


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


def _make_point(folder: RunFolder) -> None:
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
