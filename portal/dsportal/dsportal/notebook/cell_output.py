"""Output of ranks in a cell, in few messages: a page slows down with each.

Of a very long output the notebook server shows the beginning and the end, as of any cell's.
"""

import time
from collections.abc import Callable

SHOW_EVERY_S = 0.1


class CellOutput:
    """Shows text ten times a second.

    Args:
        show: Takes text for the cell.
    """

    def __init__(
        self, show: Callable[[str], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._show = show
        self._clock = clock
        self._pending: list[str] = []
        self._shown_at_s = clock()

    def write(self, text: str) -> None:
        """Take a line or a part of one."""
        self._pending.append(text)
        if self._clock() - self._shown_at_s >= SHOW_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Show what was written since the last flush."""
        self._shown_at_s = self._clock()
        if self._pending:
            self._show("".join(self._pending))
            self._pending.clear()
