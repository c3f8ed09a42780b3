"""Watches a point of a sweep in its own job, and ends it if it is among the worst.

The worst by the median, or by a pruner of Optuna's, are stopped without the notebook, too.
"""

import sys
from dataclasses import replace
from typing import Any, Protocol

from dsportal.launch.step import JobStep
from dsportal.notebook.runs import show
from dsportal.task.stopping import Losses, MedianStopping
from dsportal.task.sweep_folder import SweepFolder
from dsportal.task.throughput import Throughput

# Points are compared that often: each looks at all others.
EVERY_PERCENT = 5


class _Comparison(Protocol):
    """One point among the others."""

    def why_worst(self, new: Losses) -> str:
        """Take the point's `new` losses; return why it is one of the worst, or "" if it is not."""

    def finish(self, word: str) -> None:
        """Take how the point has ended, as `End.word`."""


def _compare(folder: SweepFolder, index: int) -> _Comparison | None:
    """Return a comparison for point `index` of a sweep; None if it stops none."""
    rule = folder.read_rule()
    if rule is None:
        return None
    if isinstance(rule, MedianStopping):
        return _ByMedian(rule, folder, index)
    return _ByOptuna(rule, folder)


class _ByMedian:
    def __init__(self, rule: MedianStopping, folder: SweepFolder, index: int) -> None:
        self._rule = rule
        self._folder = folder
        self._index = index
        record = folder.read_record()
        self._n_points = 0 if record is None else len(record.points)
        self._losses: dict[int, float] = {}

    def why_worst(self, new: Losses) -> str:
        self._losses.update(new)
        self._folder.write_losses(self._index, self._losses)
        losses = self._folder.read_losses(self._n_points)
        if not self._rule.is_worst(self._index, losses):
            return ""
        percent = max(self._losses)
        n_others = sum(percent in each for each in losses) - 1
        return (
            f"its loss was {self._losses[percent]:.4g}, and most of the {n_others} other points "
            "that have come as far had less."
        )

    def finish(self, word: str) -> None:
        """Others read its losses, however it has ended."""


class _ByOptuna:
    """A trial of a study that all points share; percents are its steps.

    Source:
        optuna 5.0, optuna.storages.JournalStorage: a file for several processes, on NFS too.
    """

    def __init__(self, pruner: Any, folder: SweepFolder) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        journal = optuna.storages.journal.JournalFileBackend(str(folder.path / "optuna.log"))
        self._study = optuna.create_study(
            storage=optuna.storages.JournalStorage(journal),
            study_name=folder.name,
            pruner=pruner,
            load_if_exists=True,
        )
        self._trial = self._study.ask()
        self._pruned = optuna.trial.TrialState.PRUNED
        self._failed = optuna.trial.TrialState.FAIL
        self._pruner = type(pruner).__name__
        self._loss: float | None = None

    def why_worst(self, new: Losses) -> str:
        for percent, loss in new.items():
            self._trial.report(loss, step=percent)
            self._loss = loss
        if not self._trial.should_prune():
            return ""
        return f"its loss was {self._loss:.4g}, and Optuna's {self._pruner} stopped it."

    def finish(self, word: str) -> None:
        if word == "done" and self._loss is not None:
            self._study.tell(self._trial, self._loss)
        else:
            self._study.tell(self._trial, state=self._pruned if word == "pruned" else self._failed)


class PointWatch:
    """Compares a point's losses with those of the others."""

    def __init__(self, folder: SweepFolder, index: int) -> None:
        self._point = folder.run(index)
        # The rule may come from a package that only the notebook's search path has.
        found = self._point.read_plan().module_paths
        sys.path += [path for path in found if path not in sys.path]
        self._comparison: _Comparison | None = None
        # Comparing must not end a training, whatever a pruner raises.
        try:
            self._comparison = _compare(folder, index)
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
