"""The progress bar of a task in a cell."""

import html
import time

from dsportal.live_output import LiveOutput

_REDRAW_EVERY_S = 0.5


class Bar:
    """Progress of a task, with its rate and the time left.

    Args:
        n_all: Units of work in all, including those done before.
        n_before: Units that an earlier call has done; they do not count for the rate.
    """

    def __init__(self, n_all: int, unit: str, n_before: int = 0) -> None:
        self._n_all = n_all
        self._unit = unit
        self._n_before = n_before
        self._began_s = time.monotonic()
        self._output = LiveOutput(
            lambda text: print(text, end="", flush=True), redraw_every_s=_REDRAW_EVERY_S
        )

    def draw(self, n_done: int, *, is_end: bool = False) -> None:
        """Show the progress, unless it was shown a moment ago.

        Args:
            is_end: Show it even if it was shown a moment ago.
        """
        words = self._words(n_done, time.monotonic() - self._began_s)
        page = (
            f'<progress max="{self._n_all}" value="{n_done}" aria-label="Progress" '
            f'style="width:24em"></progress> {html.escape(words)}'
        )
        self._output.draw(page, words, is_end=is_end)

    def _words(self, n_done: int, seconds: float) -> str:
        # What an earlier call has done took no time of this one.
        rate = (n_done - self._n_before) / max(seconds, 1e-9)
        words = f"{n_done:,} of {self._n_all:,} {self._unit}, {rate:,.0f} a second"
        if rate and n_done < self._n_all:
            return f"{words}, about {(self._n_all - n_done) / rate:,.0f} s left"
        return words
