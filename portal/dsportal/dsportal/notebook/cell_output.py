"""Output of ranks in a cell: batched into few messages, and limited to what a page can hold.

A page slows down with every message and every line of a cell. 100,000 lines, a message each, kept
JupyterLab from answering for minutes.
"""

import time
from collections.abc import Callable
from pathlib import Path

SHOW_EVERY_S = 0.1
# A token bucket: what a cell may show at once, and how much more with each second.
MOST_CHARACTERS = 200_000
MORE_PER_S = 2_000
# Once something was left out, output resumes when there is room for this much, beginning with the
# last characters that were left out.
RESUME_AT_CHARACTERS = 10_000
LAST_CHARACTERS = 4_000


class CellOutput:
    """Shows text ten times a second, and leaves out the middle of very long output.

    Args:
        place: File with the full text, named in place of what is left out; None to show everything.
    """

    def __init__(
        self,
        show: Callable[[str], object],
        place: Path | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show = show
        self._place = place
        self._clock = clock
        self._pending: list[str] = []
        self._shown_at_s = self._filled_at_s = clock()
        self._room = float(MOST_CHARACTERS)
        self._last = ""
        self._n_lines_left_out = 0

    def write(self, text: str) -> None:
        """Take a line or a part of one."""
        self._pending.append(text)
        if self._clock() - self._shown_at_s >= SHOW_EVERY_S:
            self.flush()

    def flush(self, *, is_end: bool = False) -> None:
        """Show what was written since the last flush.

        Args:
            is_end: Nothing more follows, so the end of what was left out is shown.
        """
        now_s = self._clock()
        self._room = min(MOST_CHARACTERS, self._room + MORE_PER_S * (now_s - self._filled_at_s))
        self._filled_at_s = self._shown_at_s = now_s
        text = "".join(self._pending)
        self._pending.clear()
        if self._place is None:
            self._write(text)
            return
        # While a gap is open everything goes into it, so that the cell shows one gap and not many.
        fits = 0 if self._last else int(self._room)
        self._room -= min(fits, len(text))
        self._write(text[:fits])
        self._leave_out(text[fits:])
        if self._last and (is_end or self._room >= RESUME_AT_CHARACTERS):
            self._show_last()

    def _leave_out(self, text: str) -> None:
        self._n_lines_left_out += text.count("\n")
        self._last = (self._last + text)[-LAST_CHARACTERS:]

    def _show_last(self) -> None:
        # From the start of a line.
        last = self._last.partition("\n")[2] or self._last
        n_lines = max(0, self._n_lines_left_out - last.count("\n"))
        self._write(f"\n… {n_lines:,} lines are left out here. All of them: {self._place}\n{last}")
        self._room -= len(last)
        self._last, self._n_lines_left_out = "", 0

    def _write(self, text: str) -> None:
        if text:
            self._show(text)
