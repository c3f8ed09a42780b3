"""One output of a cell that changes: redrawn in place on a page, printed now and then elsewhere."""

import math
import sys
import time
from collections.abc import Callable
from typing import Any

PRINT_EVERY_S = 10.0


class LiveOutput:
    """Shows the newest state of something.

    Args:
        show: Takes text where there is no page.
        is_page: True if the cell shows HTML; None to detect it.
        redraw_every_s: Least time between two states on a page, in seconds.
        print_every_s: Least time between two lines elsewhere, in seconds.
    """

    def __init__(
        self,
        show: Callable[[str], object],
        *,
        is_page: bool | None = None,
        redraw_every_s: float = 0.0,
        print_every_s: float = PRINT_EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show = show
        # Only a kernel has loaded it; asking IPython would import it into a batch job.
        self._is_page = "ipykernel" in sys.modules if is_page is None else is_page
        self._every_s = redraw_every_s if self._is_page else print_every_s
        self._clock = clock
        self._shown_at_s = -math.inf
        self._state = ""
        self._display: Any = None

    def draw(self, page: str, words: str, *, text: str = "", is_end: bool = False) -> None:
        """Show a state, unless it is the last one, or that was shown a moment ago.

        Args:
            page: As HTML.
            words: As a line of text, without its end.
            text: For pages that show no HTML, if that is more than the line.
        """
        now_s = self._clock()
        state = page if self._is_page else words
        if state == self._state or (not is_end and now_s - self._shown_at_s < self._every_s):
            return
        self._state, self._shown_at_s = state, now_s
        if not self._is_page:
            self._show(f"{words}\n")
            return
        # Batch jobs import this module, too, and need no IPython.
        from IPython.display import display

        shown = {"text/plain": text or words, "text/html": page}
        if self._display is None:
            # With an id the same output is redrawn, instead of one more for each update.
            self._display = display(shown, raw=True, display_id=True)
        else:
            self._display.update(shown, raw=True)
