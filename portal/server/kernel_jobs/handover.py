"""What the notebook server and the job of a kernel hand each other: files of the job's folder."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dsportal.whole_file import write_whole

CONNECTION = "kernel.json"
ORDER = "order.json"
PROGRESS = "progress.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the notebook server wants.

    Attributes:
        environ: The kernel's environment, but for what Slurm sets for this job.
        has_door: Whether the kernel knows no encryption, so that others must not reach it.
    """

    argv: list[str]
    environ: dict[str, str]
    working_dir: str
    session_job_id: str
    has_door: bool = False

    def write(self, folder: Path) -> None:
        """Write it to a folder."""
        write_json(folder / ORDER, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Order:
        """Read that of a folder."""
        return cls(**json.loads((folder / ORDER).read_text("utf-8")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the job is.

    Attributes:
        n_ends: Times that it has ended by itself, or was ended for another start.
        status: Exit status of the last one that ended, negative for a signal.
        is_out_of_memory: Whether Linux has killed something for want of the job's memory meanwhile.
        node: Where the job runs, by Slurm's name, or "".
    """

    n_starts: int = 0
    n_ends: int = 0
    status: int = 0
    is_out_of_memory: bool = False
    is_over: bool = False
    node: str = ""

    def write(self, folder: Path) -> None:
        """Write it to a folder."""
        write_json(folder / PROGRESS, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Progress:
        """Read that of a folder; that of a job that has not started if there is none."""
        try:
            return cls(**json.loads((folder / PROGRESS).read_text("utf-8")))
        except FileNotFoundError:
            return cls()


def write_json(path: Path, values: dict[str, object]) -> None:
    """Write `values` that another node reads at any moment, as a whole and for the user alone."""
    write_whole(path, json.dumps(values).encode(), mode=0o600)


def read_connection(folder: Path) -> dict[str, Any]:
    """Return the connection file of a job's folder; empty while the kernel writes it anew."""
    # Jupyter removes the old file, and then fills the new one.
    with suppress(FileNotFoundError, ValueError):
        return dict(json.loads((folder / CONNECTION).read_text("utf-8")))
    return {}
