"""How far a sweep is, as rows and as text. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from dsportal.amounts import count
from dsportal.task.grid import point_name

N_SHOWN = 10
# In this order in the line above the table.
_STATES = ("done", "running", "waiting", "failed", "stopped", "saved", "lost", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a sweep.

    Attributes:
        values: Its arguments.
        state: One of `Run.state`.
        result: What the function returned: a number, a dictionary, or anything; None before.
        loss: The loss that it reported last, or None.
        error: Why it failed, in one line, or "".
        log: Path of its log.
    """

    values: Mapping[str, Any]
    state: str
    result: Any = None
    loss: float | None = None
    error: str = ""
    log: str = ""

    @property
    def measured(self) -> dict[str, Any]:
        """Its result by name: that of a number is "result"."""
        if isinstance(self.result, Mapping):
            return dict(self.result)
        return {} if self.result is None else {"result": self.result}

    def row(self) -> dict[str, Any]:
        """Return it as a row: arguments, state, results, and error if it failed."""
        error = {"error": self.error} if self.error else {}
        return {**self.values, "state": self.state, **self.measured, **error, "log": self.log}


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Which point is the best.

    Attributes:
        metric: Name of the result to compare; "" for the first that is a number.
        is_smallest: True if the smallest is the best.
    """

    metric: str = ""
    is_smallest: bool = False

    def score(self, point: Point) -> float | None:
        """Return what is compared; None if the point has no such number."""
        numbers = {
            name: float(value)
            for name, value in point.measured.items()
            # True and False are numbers in Python.
            if isinstance(value, Real) and not isinstance(value, bool)
        }
        if self.metric:
            return numbers.get(self.metric)
        return next(iter(numbers.values()), None)

    def ranked(self, points: Sequence[Point]) -> list[Point]:
        """Return the points with a number, the best first."""
        scored = [(score, each) for each in points if (score := self.score(each)) is not None]
        # Not a number is neither the best nor the worst.
        scored = [(score, each) for score, each in scored if score == score]
        scored.sort(key=lambda pair: pair[0], reverse=not self.is_smallest)
        return [each for _, each in scored]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepTable:
    """A sweep at one moment; `str` of it is what the cell shows."""

    points: Sequence[Point]
    goal: Goal = field(default_factory=Goal)

    def summary(self) -> str:
        """Return one line: how many points are in which state, and the best so far."""
        n_of = Counter(each.state for each in self.points)
        words = [f"{n_of[state]} {state}" for state in _STATES if n_of[state]]
        best = self.goal.ranked(self.points)[:1]
        said = f"; best so far {_figure(self.goal, best[0])}" if best else ""
        return f"{count(len(self.points), 'point')}: {', '.join(words)}{said}"

    def __str__(self) -> str:
        ranked = self.goal.ranked(self.points)
        others = [each for each in self.points if each.state in {"running", "failed", "lost"}]
        rows = [*ranked[:N_SHOWN], *others[: max(0, N_SHOWN - len(ranked))]]
        lines = [f"  {each.state:8} {_words(self.goal, each)}" for each in rows]
        return "\n".join([self.summary(), *lines])


def _figure(goal: Goal, point: Point) -> str:
    return f"{goal.score(point):.6g} with {point_name(point.values)}"


def _words(goal: Goal, point: Point) -> str:
    if goal.score(point) is not None:
        return _figure(goal, point)
    if point.error:
        return f"{point_name(point.values)}: {point.error}"
    loss = "" if point.loss is None else f", loss {point.loss:.4g}"
    return f"{point_name(point.values)}{loss}"
