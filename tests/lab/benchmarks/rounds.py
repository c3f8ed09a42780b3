"""One figure of several rounds: its median, its spread, and its ratio to another."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tests.lab.benchmarks.report import Spread, spread_of


@dataclass(frozen=True, slots=True)
class Rounds:
    """One figure, measured several times."""

    values: Sequence[float]
    n_digits: int = 1

    @property
    def median(self) -> float:
        """The figure."""
        return round(statistics.median(self.values), self.n_digits)

    @property
    def spread(self) -> Spread:
        """Least and most of the rounds."""
        return spread_of(self.values, self.n_digits)

    @property
    def text(self) -> str:
        """For example "1.2 (1.1 to 1.4)"."""
        middle, least, most = (
            f"{value:.{self.n_digits}f}"
            for value in (self.median, min(self.values), max(self.values))
        )
        return f"{middle} ({least} to {most})"

    def over(self, other: Rounds, n_digits: int = 2) -> Rounds:
        """Return the ratios to another figure, round by round."""
        pairs = zip(self.values, other.values, strict=True)
        return Rounds([ours / theirs for ours, theirs in pairs], n_digits)


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile of two or more values."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1]
