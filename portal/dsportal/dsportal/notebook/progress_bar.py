"""The progress bar in the cell: redrawn in place on a page, printed every ten seconds elsewhere."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable
from typing import Any

from dsportal.task.plan import End
from dsportal.task.throughput import Throughput

PRINT_EVERY_S = 10.0
_BAR = '<progress{width} aria-label="Progress of the run" style="width:24em"></progress>'


class ProgressBar:
    """Shows the pace of a run.

    Args:
        show: Takes text for the cell.
        is_page: True if the cell shows HTML; None to detect it.
        clock: Monotonic clock in seconds.
    """

    def __init__(
        self,
        show: Callable[[str], object],
        *,
        is_page: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show = show
        self._is_page = "ipykernel" in sys.modules if is_page is None else is_page
        self._clock = clock
        self._display: Any = None
        self._printed_at_s: float | None = None

    def draw(self, pace: Throughput) -> None:
        """Show a pace."""
        now_s = self._clock()
        if self._is_page:
            self._draw_page(render_bar(pace))
        elif self._printed_at_s is None or now_s - self._printed_at_s >= PRINT_EVERY_S:
            self._show(f"{pace}\n")
            self._printed_at_s = now_s

    def finish(self, pace: Throughput | None, end: End | None) -> None:
        """Show the last pace, if a rank has reported one, and how the ranks ended, if known."""
        if pace is None:
            return
        done = "" if end is None else end.progress
        if not self._is_page:
            self._show(f"{done or pace}\n")
        else:
            self._draw_page(_full_bar(done) if done else render_bar(pace))

    def _draw_page(self, markup: str) -> None:
        # Scripts import this module, too, and need no IPython.
        from IPython.display import HTML, display

        if self._display is None:
            # With an id the same output is redrawn, instead of one more for each update.
            self._display = display(HTML(markup), display_id=True)
        else:
            self._display.update(HTML(markup))


def _full_bar(words: str) -> str:
    return f"<div>{_BAR.format(width=' value=1')} {html.escape(words)}</div>"


def render_bar(pace: Throughput) -> str:
    """Return the bar and its figures as HTML; several ranks get a line each, folded away."""
    words = html.escape(str(pace))
    # Without a value the browser shows that the end is not known.
    width = f' max="{pace.n_steps}" value="{pace.step}"' if pace.n_steps else ""
    bar = _BAR.format(width=width)
    rows = "".join(
        f"<li>rank {rank}: {_rank_words(steps, silent_s)}</li>"
        for rank, (steps, silent_s) in enumerate(zip(pace.behind, pace.silent_s, strict=True))
    )
    ranks = f"<details><summary>Ranks</summary><ul>{rows}</ul></details>"
    return f"<div>{bar} {words}{ranks if len(pace.behind) > 1 else ''}</div>"


def _rank_words(steps: int | None, silent_s: float | None) -> str:
    if steps is None or silent_s is None:
        return "has not reported yet"
    place = {0: "in front", 1: "1 step behind"}.get(steps, f"{steps} steps behind")
    return f"{place}, last heard of {silent_s:.0f} s ago"
