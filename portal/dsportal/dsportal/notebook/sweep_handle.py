"""Handle of a sweep in the notebook: its table, results, curves, and how to stop it."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from dsportal.errors import LaunchError, hide_frames
from dsportal.launch import commands
from dsportal.launch.messages import explain_going_on
from dsportal.notebook.handle import FILES_LATE_S, Run
from dsportal.notebook.runs import show
from dsportal.notebook.sweep_table import Goal, Point, SweepTable
from dsportal.notebook.tensorboard import tensorboard
from dsportal.slurm.states import Phase, parse_state
from dsportal.task.folder import RunFolder
from dsportal.task.interrupts import without_interrupts
from dsportal.task.sweep_folder import SweepFolder

ASK_EVERY_S = 2.0
# A function with an argument of this name gets a folder for TensorBoard.
LOG_DIR = "log_dir"
_OPEN = frozenset({"waiting", "running", "unknown"})


class Sweep:
    """A sweep that was started; it continues without this object.

    Args:
        folder: Folder of the sweep.
        points: Arguments of each point.
        goal: Which point is the best.
    """

    def __init__(
        self, folder: SweepFolder, points: Sequence[Mapping[str, Any]], goal: Goal
    ) -> None:
        self.folder = folder
        self._points = points
        self._goal = goal
        self._ended: dict[int, Point] = {}

    def __repr__(self) -> str:
        return str(self.table())

    @property
    def runs(self) -> list[Run]:
        """The run of each point, with its state, output and result."""
        return [Run(self.folder.run(n), self.job_id, show) for n in range(len(self._points))]

    @property
    def job_id(self) -> int | None:
        """The newest array of Slurm jobs."""
        return RunFolder(self.folder.path).read_job_id()

    def table(self) -> SweepTable:
        """Return how far the points are."""
        job_id = self.job_id
        is_over = len(self._ended) == len(self._points)
        states = {} if is_over or job_id is None else commands.task_states(job_id)
        points = [self._read(index, states) for index in range(len(self._points))]
        return SweepTable(points=points, goal=self._goal)

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
        """Return the numbers of the points that neither are done nor run nor wait."""
        points = self.table().points
        return [n for n, each in enumerate(points) if each.state not in {"done", *_OPEN}]

    def wait(self) -> Any:
        """Show how far the points are until all have ended.

        The interrupt button ends them all; close the notebook to let them continue.

        Returns:
            As for `results`.

        Raises:
            BaseException: The interrupt, after the jobs have been cancelled.
        """
        screen, lost_since_s = _Screen(), 0.0
        try:
            while True:
                table = self.table()
                screen.draw(table)
                states = {each.state for each in table.points}
                now_s = time.monotonic()
                # The files of a job that is over may become visible late.
                lost_since_s = (lost_since_s or now_s) if "lost" in states else 0.0
                is_late = lost_since_s and now_s - lost_since_s < FILES_LATE_S
                if not states & _OPEN and not is_late:
                    return self.results()
                time.sleep(ASK_EVERY_S)
        except BaseException as error:
            self.stop()
            hide_frames(error)
            raise

    def stop(self) -> None:
        """Cancel the points that run or wait; those that are done stay."""
        if self.job_id is not None:
            with without_interrupts():
                is_stopped = commands.cancel(self.job_id)
            text = "Stopped." if is_stopped else explain_going_on(self.job_id)
            show(f"{text} sweep(..., resume=True) continues with the points that are not done.\n")

    def tensorboard(self) -> None:
        """Show the curves of all points in one TensorBoard, if the function has a `log_dir`."""
        if not self.folder.logs.is_dir():
            raise LaunchError(
                "This sweep has logged nothing for TensorBoard. Give the function an argument "
                f"{LOG_DIR}, and have it log there."
            )
        tensorboard(self.folder.logs)

    def _read(self, index: int, states: Mapping[int, str] | None) -> Point:
        if index in self._ended:
            return self._ended[index]
        folder, values = self.folder.run(index), self._points[index]
        log = str(folder.log_path(0))
        end = folder.read_end()
        if end is None:
            state = "unknown" if states is None else _state(states.get(index))
            pace = folder.read_throughput()
            return Point(
                values=values, state=state, loss=None if pace is None else pace.loss, log=log
            )
        result = folder.read_result(0) if end.word == "done" else None
        point = Point(
            values=values,
            state=end.word,
            result=result,
            error=end.reason.partition("\n")[0],
            log=log,
        )
        self._ended[index] = point
        return point


def _state(word: str | None) -> str:
    if word is None:
        return "lost"
    return "waiting" if parse_state(word).phase is Phase.WAITING else "running"


class _Screen:
    """The table in the cell: redrawn in place on a page, else a line for each change."""

    def __init__(self) -> None:
        self._display: Any = None
        self._said = ""

    def draw(self, table: SweepTable) -> None:
        if "ipykernel" not in sys.modules:
            if table.summary() != self._said:
                show(f"{table.summary()}\n")
            self._said = table.summary()
            return
        # Scripts import this module, too, and need no IPython.
        from IPython.display import HTML, display

        markup = HTML(f"<pre>{html.escape(str(table))}</pre>")
        if self._display is None:
            self._display = display(markup, display_id=True)
        else:
            self._display.update(markup)
