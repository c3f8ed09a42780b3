"""`runs` and `attach`: a user's runs, both running and ended."""

import sys
from pathlib import Path

from dsportal.amounts import count
from dsportal.errors import LaunchError
from dsportal.launch import commands
from dsportal.notebook.handle import Run
from dsportal.task.folder import RunFolder
from dsportal.task.folders import parent_folder

N_SHOWN = 20


class Runs(list[Run]):
    """A list of runs, the newest first; a notebook shows it as a table."""

    def __repr__(self) -> str:
        if not self:
            return "No runs yet. run(train, gpus=2) starts one."
        rows = [(run.id, run.state, _place(run)) for run in self]
        width = max(len(name) for name, _, _ in rows)
        return "\n".join(f"{name:{width}}  {state:8}  {place}" for name, state, place in rows)


def runs(n: int | None = N_SHOWN) -> Runs:
    """Return the newest runs of this user, from every session.

    Args:
        n: Most runs to return; None for all.
    """
    parent = parent_folder()
    # Without a plan it is no run, for example the folder of studies.
    paths = [path for path in parent.glob("*") if (path / "run.json").is_file()]
    return Runs(_open_run(path) for path in sorted(paths, key=_start, reverse=True)[:n])


def attach(run_id: str | None = None) -> Run:
    """Return a run that was started earlier, perhaps from another notebook or session.

    Args:
        run_id: Its name as `runs()` shows it, or a part of it; None for the newest.

    Returns:
        The run: `wait()` shows its output from the start and returns its result.

    Raises:
        LaunchError: If there is no such run, or several contain the part.
    """
    found = [run for run in runs(n=None) if run_id is None or run_id in run.id]
    # A whole name may also be part of another one.
    exact = [run for run in found if run.id == run_id]
    if not found:
        raise LaunchError(
            f"There is no run {run_id!r} in {parent_folder()}. runs() lists your runs."
            if run_id is not None
            else f"There are no runs in {parent_folder()} yet. run(train, gpus=2) starts one."
        )
    if run_id is not None and not exact and len(found) > 1:
        names = ", ".join(run.id for run in found[:5])
        raise LaunchError(f"{run_id!r} is a part of several names: {names}. Give more of it.")
    return (exact or found)[0]


def runs_of_session(job_id: int, *, but: str) -> list[Run]:
    """Return the runs that are going on inside a session, and so on its GPUs.

    Args:
        but: Name of a run to leave out.
    """
    found = [each for each in runs() if each.job_id is None and each.id != but]
    going = [each for each in found if each.folder.read_end() is None]
    # Slurm is asked only if there may be one.
    names = commands.step_names(job_id) or set() if going else set()
    return [each for each in going if each.id in names]


def _start(path: Path) -> tuple[str, int]:
    # Names begin with the second of the start; the plan is written once, when the run starts.
    second = "-".join(path.name.split("-")[:2])
    return second, (path / "run.json").stat().st_mtime_ns


def _open_run(path: Path) -> Run:
    folder = RunFolder(path)
    return Run(folder, folder.read_job_id(), show)


def _place(run: Run) -> str:
    plan = run.folder.read_plan()
    what = "GPU" if plan.executes else "rank"
    ranks, nodes = count(plan.n_ranks, what), count(plan.n_nodes, "node")
    job = f", job {run.job_id}" if run.job_id is not None else ""
    return f"{ranks} on {nodes}{job}"


def show(text: str) -> None:
    """Write text, with its line ends, into the cell."""
    sys.stdout.write(text)
    sys.stdout.flush()
