"""A progress bar: redrawn in place in a notebook, printed every ten seconds elsewhere."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

_DRAW_EVERY_S = 0.5
_PRINT_EVERY_S = 10.0


class Bar:
    """Progress of a task, with its rate and the time left.

    Args:
        n_all: Units of work in all, including those done before.
        unit: What is counted, such as "images".
        n_before: Units that an earlier call has done; they do not count for the rate.
    """

    def __init__(self, n_all: int, unit: str, n_before: int = 0) -> None:
        self._n_all = n_all
        self._unit = unit
        self._n_before = n_before
        self._began_s = time.monotonic()
        self._drawn_at_s = 0.0
        self._display: Any = None

    def draw(self, n_done: int, *, is_end: bool = False) -> None:
        """Show the progress, unless it was shown a moment ago.

        Args:
            n_done: Units done so far, including those done before.
            is_end: Show it even if it was shown a moment ago.
        """
        now_s = time.monotonic()
        # Only a kernel has loaded it; asking IPython would import it into a batch job.
        is_page = "ipykernel" in sys.modules
        every_s = _DRAW_EVERY_S if is_page else _PRINT_EVERY_S
        if not is_end and now_s - self._drawn_at_s < every_s:
            return
        self._drawn_at_s = now_s
        words = self._words(n_done, now_s - self._began_s)
        if is_page:
            self._draw_page(n_done, words)
        else:
            print(words, flush=True)

    def _words(self, n_done: int, seconds: float) -> str:
        # What an earlier call has done took no time of this one.
        rate = (n_done - self._n_before) / max(seconds, 1e-9)
        words = f"{n_done:,} of {self._n_all:,} {self._unit}, {rate:,.0f} a second"
        if rate and n_done < self._n_all:
            return f"{words}, about {(self._n_all - n_done) / rate:,.0f} s left"
        return words

    def _draw_page(self, n_done: int, words: str) -> None:
        # Imported here: batch jobs use this module too, and have no page to draw on.
        from IPython.display import HTML, display

        bar = (
            f'<progress max="{self._n_all}" value="{n_done}" aria-label="Progress" '
            f'style="width:24em"></progress> {html.escape(words)}'
        )
        if self._display is None:
            # With an id the same output is redrawn, instead of one more for each update.
            self._display = display(HTML(bar), display_id=True)
        else:
            self._display.update(HTML(bar))
