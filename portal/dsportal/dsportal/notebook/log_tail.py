"""Follows the ranks' logs and shows new lines."""

from collections.abc import Callable, Sequence
from pathlib import Path

from dsportal.notebook.cell_output import CellOutput
from dsportal.notebook.output import RankText


class LogTail:
    """Shows what is appended to logs.

    Args:
        paths: Logs of the shown ranks, from rank 0; they need not exist yet.
        show: Takes text for the cell. Part of very long output is left out.
    """

    def __init__(self, paths: Sequence[Path], show: Callable[[str], object]) -> None:
        self._paths = list(paths)
        self._offsets = [0] * len(self._paths)
        self._rests = [b""] * len(self._paths)
        self._text = RankText(len(self._paths))
        self._cell = CellOutput(show, self._paths[0] if self._paths else None)

    def read(self, *, is_end: bool = False) -> None:
        """Show new lines.

        Args:
            is_end: Nothing more follows, so a line without an end is shown too.
        """
        for rank, path in enumerate(self._paths):
            # Opened again each time: an NFS client checks the server's file when it opens it.
            try:
                with path.open("rb") as log:
                    log.seek(self._offsets[rank])
                    new = log.read()
            except FileNotFoundError:
                continue
            self._offsets[rank] += len(new)
            lines = (self._rests[rank] + new).splitlines(keepends=True)
            # The writer may be in the middle of a line, or even of a character.
            rest = b"" if is_end or not lines or lines[-1].endswith(b"\n") else lines.pop()
            self._rests[rank] = rest
            for line in lines:
                self._cell.write(self._text.of(rank, line))
        self._cell.flush(is_end=is_end)
