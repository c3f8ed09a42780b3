"""Which points of a sweep are the worst: by the losses that each has reported so far. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

# By the percent of its steps that a point has done, 0 to 100.
Losses = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class MedianStopping:
    """Stops a point whose best loss is above the median of the others' at the same percent.

    Attributes:
        n_others: Points that must have come as far.
        first_percent: Nothing is stopped before.

    Source:
        Golovin et al., "Google Vizier: A Service for Black-Box Optimization", 2017, section 3.2.1.
        Numbers of Optuna's MedianPruner, which compares as here: its n_startup_trials, and a tenth
        of the steps to warm up.
    """

    n_others: int = 5
    first_percent: int = 10

    def is_worst(self, index: int, losses: Sequence[Losses]) -> bool:
        """Return whether to stop point `index` of those whose `losses` these are."""
        own = losses[index]
        percent = max(own, default=0)
        others = [
            _number(each[percent])
            for n, each in enumerate(losses)
            if n != index and percent in each
        ]
        if percent < self.first_percent or len(others) < self.n_others:
            return False
        return min(map(_number, own.values())) > median(others)


def _number(loss: float) -> float:
    # What is not a number is worse than any.
    return math.inf if math.isnan(loss) else loss
