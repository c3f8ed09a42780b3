"""Compares a point of a sweep with the others: by the median, or with a pruner of Optuna's."""

from typing import Any, Protocol

from dsportal.task.stopping import Losses, MedianStopping
from dsportal.task.sweep_folder import SweepFolder


class Comparison(Protocol):
    """One point among the others."""

    def why_worst(self, new: Losses) -> str:
        """Take the point's `new` losses; return why it is one of the worst, or "" if it is not."""

    def finish(self, word: str) -> None:
        """Take how the point has ended, as `End.word`."""


def compare(folder: SweepFolder, index: int) -> Comparison | None:
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
