"""Watches a point of a sweep in its own job, and ends it if it is among the worst.

So the worst are stopped without the notebook, too.
"""

import sys
from dataclasses import replace

from dsportal.launch.step import JobStep
from dsportal.notebook.comparison import Comparison, compare
from dsportal.notebook.runs import show
from dsportal.task.sweep_folder import SweepFolder
from dsportal.task.throughput import Throughput

# Points are compared that often: each looks at all others.
EVERY_PERCENT = 5


class PointWatch:
    """Compares a point's losses with those of the others."""

    def __init__(self, folder: SweepFolder, index: int) -> None:
        self._point = folder.run(index)
        # The rule may come from a package that only the notebook's search path has.
        found = self._point.read_plan().module_paths
        sys.path += [path for path in found if path not in sys.path]
        self._comparison: Comparison | None = None
        # Comparing must not end a training, whatever a pruner raises.
        try:
            self._comparison = compare(folder, index)
        except Exception as error:
            self._give_up(error)
        self._step: JobStep | None = None
        self._percent = -EVERY_PERCENT
        self._why = ""

    def begin(self, step: JobStep) -> None:
        """Take the step that runs the point."""
        self._step = step

    def note(self, pace: Throughput) -> None:
        """Take the newest progress."""
        if self._comparison is None or self._why or pace.loss is None or not pace.n_steps:
            return
        percent = min(100, 100 * pace.step // pace.n_steps) // EVERY_PERCENT * EVERY_PERCENT
        new = range(self._percent + EVERY_PERCENT, percent + 1, EVERY_PERCENT)
        if not new:
            return
        self._percent = percent
        try:
            why = self._comparison.why_worst(dict.fromkeys(new, pace.loss))
        except Exception as error:
            self._give_up(error)
            return
        if why and percent < 100 and self._step is not None:
            self._why = f"Stopped at {percent} % of its steps: {why}"
            self._point.stop_mark.touch(mode=0o600)
            self._step.tell_to_end()

    def finish(self) -> bool:
        """Note how the point has ended, for those that are compared with it.

        Returns:
            Whether it was ended as one of the worst.
        """
        end = self._point.read_end()
        was_pruned = bool(self._why) and end is not None and end.was_stopped
        if end is not None and was_pruned:
            end = replace(end, was_pruned=True, reason=self._why)
            self._point.write_end(end)
        if self._comparison is not None:
            try:
                self._comparison.finish("" if end is None else end.word)
            except Exception as error:
                self._give_up(error)
        return was_pruned

    def _give_up(self, error: Exception) -> None:
        show(f"This point cannot be compared with the others, so it is not stopped: {error!r}\n")
        self._comparison = None
