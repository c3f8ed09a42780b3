"""A model of the time of one training step on N GPUs, fitted to measured points.

    step = computation and input + b * 2 (N - 1) / N + l * 2 (N - 1)

The second term is the transfer of the gradients around a ring at the network's bandwidth, the
third the latency of the ring's 2 (N - 1) messages. No term is negative. If the points cannot tell
two explanations apart, both are kept, and the band of a prediction is wide.

Source:
    Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009: cost of the ring.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

Terms = tuple[float, float, float]
# Subsets of the three terms: one that the points do not show is left out.
_SHAPES = ((0,), (0, 1), (0, 2), (0, 1, 2))
# Fits that deviate at most this much more than the best one are kept too; share of a step.
_AS_GOOD = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measured step time.

    Attributes:
        n_gpus: GPUs, and so ranks, 1 or more.
        step_s: Mean seconds of one step on all of them, each with the same batch.
        error: Standard error of that mean, as a share of it; 0 if not known.
    """

    n_gpus: int
    step_s: float
    error: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Predicted speed-up over one GPU: the most likely one, and the ends of its band."""

    n_gpus: int
    speedup: float
    lowest: float
    highest: float

    @property
    def efficiency(self) -> float:
        """Speed-up per GPU; 1 is ideal."""
        return self.speedup / self.n_gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """The fitted model.

    Attributes:
        fits: Values of the three terms in seconds, one set for each fit that is about as good.
        spread: Mean deviation of the points from the best fit combined with twice their own errors,
            as a share of a step.
    """

    fits: tuple[Terms, ...]
    spread: float

    def step_s(self, n_gpus: int) -> float:
        """Return the most likely time of a step on `n_gpus` GPUs, in seconds."""
        return sum(_step_s(fit, n_gpus) for fit in self.fits) / len(self.fits)

    def predict(self, n_gpus: int) -> Prediction:
        """Return the speed-up over one GPU, with its band."""
        # On one GPU the speed-up over one GPU is exactly 1.
        spread = self.spread if n_gpus > 1 else 0.0
        speedups = [n_gpus * _step_s(fit, 1) / _step_s(fit, n_gpus) for fit in self.fits]
        return Prediction(
            n_gpus=n_gpus,
            speedup=n_gpus * self.step_s(1) / self.step_s(n_gpus),
            lowest=min(speedups) / (1 + spread),
            # Noise alone does not promise more than a perfect speed-up.
            highest=min(max(speedups) * (1 + spread), max(n_gpus, *speedups)),
        )


def fit_step_time(points: Sequence[Point]) -> StepTime:
    """Fit the model to measured points.

    Args:
        points: With at least two different numbers of GPUs, all with the same batch on each GPU.

    Raises:
        ValueError: If there are too few points, or a time is not above zero.
    """
    if len({point.n_gpus for point in points}) < 2:
        raise ValueError("Measure on two different numbers of GPUs or more, such as 1 and 2.")
    if any(point.step_s <= 0 or point.n_gpus < 1 for point in points):
        raise ValueError("Every point needs a time above 0 s and 1 GPU or more.")
    n_known = len({point.n_gpus for point in points})
    found = []
    for shape in _SHAPES:
        # More terms than different numbers of GPUs would fit any noise.
        if len(shape) <= n_known and (fit := _least_squares(points, shape)) is not None:
            found.append((_deviation(fit, points), len(shape), fit))
    best = min(deviation for deviation, _, _ in found)
    good = [row for row in found if row[0] <= best + _AS_GOOD]
    # Of about equally good fits those with the fewest terms.
    n_terms = min(n for _, n, _ in good)
    fits = tuple(fit for _, n, fit in good if n == n_terms)
    noise = math.sqrt(sum((2 * point.error) ** 2 for point in points) / len(points))
    return StepTime(fits=fits, spread=math.hypot(best, noise))


def _factors(n_gpus: int) -> Terms:
    return 1.0, 2 * (n_gpus - 1) / n_gpus, 2.0 * (n_gpus - 1)


def _step_s(fit: Terms, n_gpus: int) -> float:
    return sum(value * factor for value, factor in zip(fit, _factors(n_gpus), strict=True))


def _deviation(fit: Terms, points: Sequence[Point]) -> float:
    errors = [_step_s(fit, point.n_gpus) / point.step_s - 1 for point in points]
    return math.sqrt(sum(error**2 for error in errors) / len(errors))


def _least_squares(points: Sequence[Point], shape: tuple[int, ...]) -> Terms | None:
    """Return the terms with the least deviation relative to each point; None if one is negative."""
    # Divided by the time: a deviation of 5 % counts the same on one GPU and on eight.
    rows = [[_factors(point.n_gpus)[i] / point.step_s for i in shape] for point in points]
    n = len(shape)
    matrix = [[sum(row[i] * row[j] for row in rows) for j in range(n)] for i in range(n)]
    right = [sum(row[i] for row in rows) for i in range(n)]
    values = _solve(matrix, right)
    if values is None or any(value < 0 for value in values):
        return None
    terms = [0.0, 0.0, 0.0]
    for i, value in zip(shape, values, strict=True):
        terms[i] = value
    return terms[0], terms[1], terms[2]


def _solve(matrix: list[list[float]], right: list[float]) -> list[float] | None:
    # Gaussian elimination, by hand as this package has no dependencies. None: no single solution.
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) < 1e-12:
            return None
        for k, j in itertools.product(range(n), range(n, i - 1, -1)):
            if k != i:
                rows[k][j] -= rows[k][i] / rows[i][i] * rows[i][j]
    return [row[n] / row[i] for i, row in enumerate(rows)]
