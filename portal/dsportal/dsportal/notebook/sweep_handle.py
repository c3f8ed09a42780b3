"""Handle of a sweep in the notebook: its table, results, curves, and how to stop it."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from dsportal.errors import LaunchError, hide_frames
from dsportal.launch import array_tasks, commands
from dsportal.launch.messages import explain_end, explain_going_on, explain_waiting
from dsportal.live_output import LiveOutput
from dsportal.notebook.handle import FILES_LATE_S
from dsportal.notebook.runs import show
from dsportal.notebook.sweep_table import Goal, Point, SweepTable
from dsportal.notebook.tensorboard import tensorboard
from dsportal.slurm.states import JobState, Phase, parse_state
from dsportal.task.folder import RunFolder
from dsportal.task.interrupts import is_kernel_ending, without_interrupts
from dsportal.task.plan import End
from dsportal.task.sweep_folder import SweepFolder, all_sweeps, sweeps_folder

ASK_EVERY_S = 2.0
# A function with an argument of this name gets a folder for TensorBoard.
LOG_DIR = "log_dir"
_OPEN = frozenset({"waiting", "running", "unknown"})
# Not to be run again.
_HAS_ENDED = frozenset({"done", "pruned"})


class Sweep:
    """A sweep that was started; it continues without this object."""

    def __init__(
        self, folder: SweepFolder, points: Sequence[Mapping[str, Any]], goal: Goal
    ) -> None:
        self.folder = folder
        self._points = points
        self._goal = goal
        self._ended: dict[int, Point] = {}

    @classmethod
    def load(cls, name: str | os.PathLike[str] = "") -> Sweep:
        """Return a sweep that was started earlier, perhaps from another notebook or session.

        Args:
            name: Its name, a part of it, or its folder in `~/portal-runs/sweeps`; empty for the
                newest.

        Raises:
            LaunchError: If there is no such sweep, or several contain the part.
        """
        given = os.fspath(name)
        if os.sep in given:
            path = Path(given).expanduser().absolute()
            # Elsewhere others may have written what is unpickled.
            given = path.name if path.parent == sweeps_folder() else given
        found = [folder for folder, _ in all_sweeps() if given in folder.name]
        exact = [folder for folder in found if folder.name == given]
        if not found:
            what = f"no sweep {given!r}" if given else "no sweep yet"
            raise LaunchError(
                f"There is {what} in {sweeps_folder()}. sweep(train, ...) starts one."
            )
        if given and not exact and len(found) > 1:
            names = ", ".join(folder.name for folder in found[:5])
            raise LaunchError(f"{given!r} is a part of several names: {names}. Give more of it.")
        folder = (exact or found)[0]
        record = folder.read_record()
        goal = Goal(metric=record.metric, is_smallest=record.is_smallest) if record else Goal()
        return cls(folder, folder.read_points(), goal)

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().html(_jobs_page())

    @property
    def name(self) -> str:
        """Name of the sweep, for `Sweep.load`."""
        return self.folder.name

    @property
    def job_id(self) -> int | None:
        """The newest array of Slurm jobs."""
        return next(reversed(self.folder.read_jobs()), None)

    def table(self) -> SweepTable:
        """Return how far the points are."""
        indices = range(len(self._points))
        if all(index in self._ended for index in indices):
            return SweepTable(points=[self._ended[index] for index in indices], goal=self._goal)
        jobs = self.folder.read_jobs()
        # Asked first: a job writes its end before Slurm forgets it.
        queued = array_tasks.task_states(jobs)
        points = {index: self._read(index, queued) for index in indices}
        silent = [n for n, each in points.items() if each.state in {"lost", "stopped"}]
        ends = array_tasks.task_ends(jobs) if silent else {}
        for index in silent:
            points[index] = _explained(points[index], ends.get(index, ""))
        self._ended |= {n: each for n, each in points.items() if each.is_final}
        found = list(points.values())
        return SweepTable(points=found, goal=self._goal, waits=self._why_waiting(found, queued))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each point: its arguments, state, results, and why it failed."""
        return [point.row() for point in self.table().points]

    def results(self) -> Any:
        """Return the rows as a DataFrame if pandas is installed, else as `rows` does."""
        try:
            import pandas
        except ImportError:
            return self.rows()
        return pandas.DataFrame(self.rows())

    def open_points(self) -> list[int]:
        """Return the numbers of the points without a result that neither run nor wait.

        Raises:
            LaunchError: If one may run or wait on another cluster.
        """
        points = self.table().points
        if there := self._elsewhere(points):
            raise LaunchError(
                f"Points of {self.name} were begun on the cluster {there}, and only a session "
                "there knows whether they still run or wait. Continue it there, or give this sweep "
                "another name."
            )
        return [n for n, each in enumerate(points) if each.state not in _HAS_ENDED | _OPEN]

    def is_under_way(self) -> bool:
        """Return whether a point runs or waits, as far as is known."""
        return any(each.state in _OPEN for each in self.table().points)

    def wait(self) -> Any:
        """Show how far the points are until all have ended.

        The interrupt button ends them all. They continue when the notebook is closed, or when its
        kernel or its session ends.

        Returns:
            As for `results`.

        Raises:
            BaseException: The interrupt, after the jobs have been cancelled.
        """
        screen, lost_since_s = LiveOutput(show, print_every_s=0), 0.0
        try:
            while True:
                table = self.table()
                screen.draw(table.html(_jobs_page()), table.head(), text=str(table))
                states = {each.state for each in table.points}
                now_s = time.monotonic()
                # The files of a job that is over may become visible late.
                lost_since_s = (lost_since_s or now_s) if "lost" in states else 0.0
                is_late = lost_since_s and now_s - lost_since_s < FILES_LATE_S
                if not states & _OPEN and not is_late:
                    return self.results()
                time.sleep(ASK_EVERY_S)
        except BaseException as error:
            if is_kernel_ending():
                show("The sweep goes on without this kernel.\n")
            else:
                self.stop()
            hide_frames(error)
            raise

    def stop(self) -> None:
        """Cancel the points that run or wait; those that are done stay."""
        if self.folder.was_elsewhere and (there := self._elsewhere(self.table().points)):
            show(f"Points on the cluster {there} go on. Stop them in a session there.\n")
        jobs = self.folder.read_jobs()
        if not jobs:
            return
        with without_interrupts():
            # Of all, even if Slurm does not answer for one.
            going = [job_id for job_id in jobs if not commands.cancel(job_id)]
        show(f"{explain_going_on(going[-1]) if going else 'Stopped.'} {self._how_to_go_on()}\n")

    def tensorboard(self) -> None:
        """Show the curves of all points in one TensorBoard, if the function has a `log_dir`."""
        if not self.folder.logs.is_dir():
            raise LaunchError(
                "This sweep has logged nothing for TensorBoard. Give the function an argument "
                f"{LOG_DIR}, and have it log there."
            )
        tensorboard(self.folder.logs)

    def _how_to_go_on(self) -> str:
        # A sweep that the user has named is found by that.
        resume = "again" if self.folder.title == self.name else "with resume=True"
        return f"The same call {resume} runs the points that have no result."

    def _why_waiting(
        self, points: Sequence[Point], queued: Mapping[int, commands.JobState] | None
    ) -> str:
        states = [each.state for each in points]
        # While some run, the others wait for them.
        if "waiting" not in states or "running" in states or not queued:
            return ""
        index = states.index("waiting")
        n_gpus = self.folder.run(index).read_plan().n_ranks
        return explain_waiting(queued[index].reason, queued[index].state, n_gpus)

    def _elsewhere(self, points: Sequence[Point]) -> str:
        """Return the cluster on which a point may run or wait that this one does not know."""
        unknown = (self.folder.run(n) for n, one in enumerate(points) if one.state == "unknown")
        return next((run.elsewhere for run in unknown if run.elsewhere), "")

    def _read(self, index: int, queued: Mapping[int, commands.JobState] | None) -> Point:
        if index in self._ended:
            return self._ended[index]
        folder, job = self.folder.run(index), (queued or {}).get(index)
        if job is None and self.folder.was_elsewhere and folder.elsewhere:
            # The queue of this cluster does not tell.
            queued = None
        end = None if job is not None and job.is_waiting else folder.read_end()
        if end is not None and end.word == "stopped" and (queued is None or job is not None):
            # Slurm told it to end, and may have it in the queue again.
            end = None
        told = "unknown" if queued is None else _state(job)
        return self._point(index, told if end is None else end.word, end)

    def _point(self, index: int, state: str, end: End | None) -> Point:
        folder = self.folder.run(index)
        pace = None if state == "waiting" else folder.read_throughput()
        return Point(
            values=self._points[index],
            state=state,
            result=_result_of(folder) if state == "done" else None,
            step=0 if pace is None else pace.step,
            n_steps=0 if pace is None else pace.n_steps,
            loss=None if pace is None else pace.loss,
            error="" if end is None else end.reason.partition("\n")[0],
            log=str(folder.log_path(0)),
            is_final=state in {"done", "failed", "saved", "pruned"},
        )


def _result_of(folder: RunFolder) -> Any:
    # A script returns nothing.
    if not folder.read_plan().n_results:
        return None
    found = folder.read_result(0)
    if not folder.read_notebook():
        return found
    # Of a notebook it is the text of the last result.
    text = str(found["output"])
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return ast.literal_eval(text)
    return text


def _explained(point: Point, word: str) -> Point:
    """Return a point that has not said how it ended, with what accounting says."""
    state = parse_state(word)
    if not word or state.phase is not Phase.OVER or state is JobState.COMPLETING:
        return point
    if state is JobState.CANCELLED:
        return replace(point, state="stopped", is_final=True)
    if state is JobState.COMPLETED:
        # Its files may become visible late.
        return point
    return replace(point, state="failed", error=explain_end(word), is_final=True)


def _state(job: commands.JobState | None) -> str:
    if job is None:
        return "lost"
    return "waiting" if job.is_waiting else "running"


def _jobs_page() -> str:
    prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "")
    return f"{prefix}portal/jobs" if prefix else ""
