"""Splits srun's labelled output by rank: into logs, and from there into text for the cell."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import BinaryIO

from dsportal.notebook.cell_output import CellOutput

# srun cuts lines that are longer, and adds a line end to each piece.
PIECE_BYTES = 1024
_LABEL = re.compile(rb"\s*(\d+): ?")
# Slurm writes it among a rank's lines; the cell says itself that the ranks have been ended.
_CANCELLED = re.compile(
    rb"slurmstepd(-\S+)?: error: \*\*\* STEP \S+ ON \S+ CANCELLED AT \S+ \*\*\*"
)


def split_label(line: bytes, n_ranks: int) -> tuple[int | None, bytes]:
    """Return the rank that printed a line of `srun --label`, and the line without its label.

    The rank is None if the line is srun's own.

    Source:
        srun(1), --label, Slurm 22.05: "the task number, a colon and a space".
    """
    match = _LABEL.match(line)
    if match is None or int(match[1]) >= n_ranks:
        return None, line
    return int(match[1]), line[match.end() :]


def without_cut(text: bytes) -> bytes:
    """Return a rank's line, without its label, less the line end that srun adds where it cuts.

    Source:
        Slurm 22.05 sends 1,024 bytes of a rank at a time (slurmstepd, io.c) and, with --label, ends
        each of these with a line end. A line of 1,023 bytes comes with its own.
    """
    return text[:-1] if len(text) == PIECE_BYTES + 1 and text.endswith(b"\n") else text


class RankText:
    """Decodes the output of some ranks for one cell.

    Args:
        n_ranks: Number of ranks shown; with more than one, each line names its rank.
    """

    def __init__(self, n_ranks: int) -> None:
        self._names_ranks = n_ranks > 1
        self._decoders: dict[int, codecs.IncrementalDecoder] = {}
        self._is_in_line: dict[int, bool] = {}

    def of(self, rank: int, piece: bytes) -> str:
        """Return the text of a rank's next `piece`: a line or a part of one.

        A character that is cut comes with the next piece.
        """
        decoder = self._decoders.setdefault(rank, codecs.getincrementaldecoder("utf-8")("replace"))
        text = decoder.decode(piece)
        prefix = f"[rank {rank}] " if self._names_ranks and not self._is_in_line.get(rank) else ""
        self._is_in_line[rank] = not piece.endswith(b"\n")
        return prefix + text


class RankOutput:
    """Writes each rank's lines to its log, and shows those of some ranks.

    Args:
        shown: Ranks to show; with more than one, each line names its rank.
    """

    def __init__(
        self,
        log_paths: list[Path],
        shown: Collection[int],
        show: Callable[[str], object],
    ) -> None:
        # Unbuffered, so that other notebooks and terminals can follow the logs.
        self._logs: list[BinaryIO] = [path.open("wb", buffering=0) for path in log_paths]
        self._shown = frozenset(shown)
        self._text = RankText(len(self._shown))
        self._cell = CellOutput(show)
        # srun can repeat one error for each of many ranks.
        self._slurm_lines: deque[str] = deque(maxlen=50)

    def __enter__(self) -> RankOutput:
        return self

    def __exit__(self, *_: object) -> None:
        self._cell.flush()
        for log in self._logs:
            log.close()

    @property
    def slurm_lines(self) -> list[str]:
        """The last 50 lines that Slurm itself printed."""
        return list(self._slurm_lines)

    def feed(self, line: bytes) -> None:
        """Take one line of srun's output, with its end."""
        rank, text = split_label(line, len(self._logs))
        if rank is None or _CANCELLED.match(text):
            self._slurm_lines.append(text.decode(errors="replace").rstrip())
            return
        text = without_cut(text)
        self._logs[rank].write(text)
        if rank in self._shown:
            self._cell.write(self._text.of(rank, text))

    def flush(self) -> None:
        """Show what was printed and still waits for more."""
        self._cell.flush()


class LogTail:
    """Shows what is appended to logs.

    Args:
        paths: Logs of the shown ranks, from rank 0; they need not exist yet.
        show: Takes text for the cell.
    """

    def __init__(self, paths: Sequence[Path], show: Callable[[str], object]) -> None:
        self._paths = list(paths)
        self._offsets = [0] * len(self._paths)
        self._rests = [b""] * len(self._paths)
        self._text = RankText(len(self._paths))
        self._cell = CellOutput(show)

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
        self._cell.flush()


def log_tail(path: Path, n_lines: int = 30) -> str:
    """Return the last lines of a rank's log; empty if there is none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-n_lines:])
