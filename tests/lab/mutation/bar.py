"""A progress bar on a terminal; a line each ten seconds elsewhere."""

from __future__ import annotations

import sys
import time

WIDTH = 40
PRINT_EVERY_S = 10.0


class Bar:
    """How many mutants of a module are done.

    Args:
        name: The module.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._drawn_at_s = 0.0

    def draw(self, n_done: int, n_all: int) -> None:
        """Show it, unless it was shown a moment ago."""
        is_terminal = sys.stdout.isatty()
        now_s = time.monotonic()
        if not is_terminal and now_s - self._drawn_at_s < PRINT_EVERY_S and n_done < n_all:
            return
        self._drawn_at_s = now_s
        line = line_of(self._name, n_done, n_all)
        print(f"\r{line}" if is_terminal and n_done < n_all else line, end="", flush=True)
        print(end="" if is_terminal and n_done < n_all else "\n", flush=True)


def line_of(name: str, n_done: int, n_all: int) -> str:
    """Return such as "limits          [####....] 12 of 24 mutants"."""
    n_marks = WIDTH * n_done // max(n_all, 1)
    return f"{name:<16}[{'#' * n_marks:.<{WIDTH}}] {n_done} of {n_all} mutants"
