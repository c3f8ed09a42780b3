"""What the ranks print: one labelled stream from srun, taken apart by rank."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

_LABEL = re.compile(rb"\s*(\d+): ?")


def split_label(line: bytes, n_ranks: int) -> tuple[int | None, bytes]:
    """Return the rank that printed a line, and the line without its label.

    Args:
        line: A line as `srun --label` writes it, with its end.
        n_ranks: Ranks of the run.

    Returns:
        Rank and text; None as the rank where srun itself says something.

    Source:
        srun(1), --label, Slurm 22.05: "the task number, a colon and a space".
    """
    match = _LABEL.match(line)
    if match is None or int(match[1]) >= n_ranks:
        return None, line
    return int(match[1]), line[match.end() :]


class RankOutput:
    """Writes each rank's lines to its log, and shows those of some ranks.

    Args:
        log_paths: One file for each rank.
        shown: Ranks to show; with more than one of them, each line names its rank.
        show: Takes text for the cell.
    """

    def __init__(
        self, log_paths: list[Path], shown: Collection[int], show: Callable[[str], object]
    ) -> None:
        self._logs: list[BinaryIO] = [path.open("wb", buffering=0) for path in log_paths]
        self._shown = frozenset(shown)
        self._show = show
        self._slurm_lines: deque[str] = deque(maxlen=50)

    def __enter__(self) -> RankOutput:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for log in self._logs:
            log.close()

    @property
    def slurm_lines(self) -> list[str]:
        """The last lines that srun itself printed."""
        return list(self._slurm_lines)

    def feed(self, line: bytes) -> None:
        """Take one line of srun's output.

        Args:
            line: The line with its end.
        """
        rank, text = split_label(line, len(self._logs))
        if rank is None:
            self._slurm_lines.append(text.decode(errors="replace").rstrip())
            return
        self._logs[rank].write(text)
        if rank in self._shown:
            shown_text = text.decode(errors="replace")
            self._show(shown_text if len(self._shown) == 1 else f"[rank {rank}] {shown_text}")


def log_tail(path: Path, n_lines: int = 30) -> str:
    """Return the end of a rank's log.

    Args:
        path: The log.
        n_lines: At most so many lines.

    Returns:
        The text, empty where there is none.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-n_lines:])
