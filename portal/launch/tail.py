"""New lines of the ranks' logs, as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path


class LogTail:
    """Shows what is added to logs.

    Args:
        paths: Log of each rank that is shown, from rank 0 on; they may not exist yet.
        show: Takes text for the cell.
    """

    def __init__(self, paths: Sequence[Path], show: Callable[[str], object]) -> None:
        self._paths = list(paths)
        self._offsets = [0] * len(self._paths)
        self._rests = [b""] * len(self._paths)
        self._show = show

    def read(self, *, is_end: bool = False) -> None:
        """Show the lines that are new.

        Args:
            is_end: Nothing more will come, so a line without an end is shown too.
        """
        for rank, path in enumerate(self._paths):
            # Opened anew each time: an NFS client looks at the server's file when it opens it.
            try:
                with path.open("rb") as log:
                    log.seek(self._offsets[rank])
                    new = log.read()
            except FileNotFoundError:
                continue
            self._offsets[rank] += len(new)
            lines = (self._rests[rank] + new).splitlines(keepends=True)
            rest = b"" if is_end or not lines or lines[-1].endswith(b"\n") else lines.pop()
            self._rests[rank] = rest
            for line in lines:
                self._show_line(rank, line.decode(errors="replace"))

    def _show_line(self, rank: int, text: str) -> None:
        self._show(text if len(self._paths) == 1 else f"[rank {rank}] {text}")
