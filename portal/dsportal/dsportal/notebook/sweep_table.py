"""How far a sweep is, as rows and as text. Pure."""

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from dsportal.amounts import count
from dsportal.task.grid import point_name

N_SHOWN = 20
# In this order in the line above the table; of what runs, the table shows these first.
_STATES = (
    *("done", "running", "failed", "lost", "waiting", "pruned", "stopped", "saved", "unknown"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a sweep.

    Attributes:
        state: One of `Run.state`.
        result: What the function returned: a number, a dictionary, or anything; None before.
        n_steps: Steps of the whole training; 0 if it does not say.
        error: Why it failed, in one line, or "".
        is_final: True if nothing of this changes any more, unless it is run again.
    """

    values: Mapping[str, Any]
    state: str
    result: Any = None
    step: int = 0
    n_steps: int = 0
    loss: float | None = None
    error: str = ""
    log: str = ""
    is_final: bool = False

    @property
    def returned(self) -> dict[str, Any]:
        """Its result by name: that of a number is "result"."""
        if isinstance(self.result, Mapping):
            return dict(self.result)
        return {} if self.result is None else {"result": self.result}

    @property
    def measured(self) -> dict[str, Any]:
        """Its result, with the loss that it reported if it returned none."""
        return {**({} if self.loss is None else {"loss": self.loss}), **self.returned}

    @property
    def why(self) -> str:
        """Why it ended early, and where to read on; or ""."""
        log = f" (log: {self.log})" if self.state == "failed" and self.log else ""
        return f"{self.error}{log}"

    @property
    def latest(self) -> str:
        """What it reported last, such as "step 3 of 8, loss 0.5"; or ""."""
        of_all = f" of {self.n_steps}" if self.n_steps else ""
        step = [f"step {self.step}{of_all}"] if self.step else []
        return ", ".join([*step, *([] if self.loss is None else [f"loss {self.loss:.4g}"])])

    def row(self) -> dict[str, Any]:
        """Return it as a row: arguments, state, results, and error if it failed."""
        error = {"error": self.error} if self.error else {}
        return {**self.values, "state": self.state, **self.measured, **error, "log": self.log}


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Which point is the best.

    Attributes:
        metric: Name of the result to compare; "" for the first number that was returned. For
            "loss" those that run count, too.
        is_smallest: True if the smallest is the best.
    """

    metric: str = ""
    is_smallest: bool = False

    def score(self, point: Point) -> float | None:
        """Return what is compared; None if the point has no such number."""
        values = point.measured if self.metric else point.returned
        numbers = {
            name: float(value)
            for name, value in values.items()
            # True and False are numbers in Python.
            if isinstance(value, Real) and not isinstance(value, bool)
        }
        return numbers.get(self.metric) if self.metric else next(iter(numbers.values()), None)

    def ranked(self, points: Sequence[Point]) -> list[Point]:
        """Return the points with a number, the best first."""
        scored = [(score, each) for each in points if (score := self.score(each)) is not None]
        # Not a number is neither the best nor the worst.
        scored = [(score, each) for score, each in scored if score == score]
        scored.sort(key=lambda pair: pair[0], reverse=not self.is_smallest)
        return [each for _, each in scored]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepTable:
    """A sweep at one moment; `str` of it is what the cell shows.

    Attributes:
        waits: Why none of them runs, in words; "" if one does.
    """

    points: Sequence[Point]
    goal: Goal = field(default_factory=Goal)
    waits: str = ""

    def summary(self) -> str:
        """Return one line: how many points are in which state, and the best so far."""
        n_of = Counter(each.state for each in self.points)
        words = [f"{n_of[state]} {state}" for state in _STATES if n_of[state]]
        best = self.goal.ranked(self.points)[:1]
        said = f"; best so far {_figure(self.goal, best[0])}" if best else ""
        return f"{count(len(self.points), 'point')}: {', '.join(words)}{said}"

    def head(self) -> str:
        """Return the summary, and why all wait."""
        return "\n".join([self.summary(), *([self.waits] if self.waits else [])])

    def shown(self) -> list[Point]:
        """Return the points of the table: the best first, then by state."""
        ranked = self.goal.ranked(self.points)
        known = set(map(id, ranked))
        others = [each for each in self.points if id(each) not in known]
        others.sort(key=lambda each: _STATES.index(each.state))
        return [*ranked[:N_SHOWN], *others][:N_SHOWN]

    def __str__(self) -> str:
        shown = self.shown()
        lines = [f"  {each.state:8} {_words(self.goal, each)}" for each in shown]
        return "\n".join([self.head(), *lines, *self._rest(len(shown))])

    def html(self, jobs_page: str = "") -> str:
        """Return it as HTML: a row for each point.

        Args:
            jobs_page: Path of the page of the user's jobs; empty for no link.
        """
        shown = self.shown()
        names = list(dict.fromkeys(name for each in shown for name in each.values))
        head = _row("th", ["state", *names, "reported", "result", ""])
        rows = [_row("td", _cells(self.goal, each, names)) for each in shown]
        waits = f"<p>{html.escape(self.waits)}</p>" if self.waits else ""
        rest = "".join(f"<p>{html.escape(line.strip())}</p>" for line in self._rest(len(shown)))
        return (
            f"<p><b>{html.escape(self.summary())}</b></p>{waits}"
            f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
            f"{rest}{_hint(jobs_page) if self.is_going_on else ''}"
        )

    @property
    def is_going_on(self) -> bool:
        """Whether a point waits or runs."""
        return any(each.state in {"waiting", "running"} for each in self.points)

    def _rest(self, n_shown: int) -> list[str]:
        n = len(self.points) - n_shown
        return [f"  and {count(n, 'more point')}"] if n else []


def _row(cell: str, words: Sequence[str]) -> str:
    # Pages would have columns of numbers to the right, and break what is short.
    styles = [*["text-align: left; white-space: nowrap"] * (len(words) - 1), "text-align: left"]
    cells = zip(styles, words, strict=True)
    shown = (f'<{cell} style="{style}">{html.escape(word)}</{cell}>' for style, word in cells)
    return f"<tr>{''.join(shown)}</tr>"


def _cells(goal: Goal, point: Point, names: Sequence[str]) -> list[str]:
    score = goal.score(point)
    values = [repr(point.values[name]) if name in point.values else "" for name in names]
    result = "" if score is None else f"{score:.6g}"
    return [point.state, *values, point.latest, result, point.why]


def _hint(jobs_page: str) -> str:
    page = f'<a href="{html.escape(jobs_page)}" target="_blank">Jobs and Runs</a>'
    where = f", as does Cancel on the page {page}" if jobs_page else ""
    return (
        f"<p>Interrupting the kernel stops all points{where}. Without the notebook they go on.</p>"
    )


def _figure(goal: Goal, point: Point) -> str:
    return f"{goal.score(point):.6g} with {point_name(point.values)}"


def _words(goal: Goal, point: Point) -> str:
    if goal.score(point) is not None:
        return _figure(goal, point)
    if point.error:
        return f"{point_name(point.values)}: {point.why}"
    return f"{point_name(point.values)}{', ' if point.latest else ''}{point.latest}"
