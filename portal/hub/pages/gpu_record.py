"""What sessions say that their GPUs did: kept, since Slurm's accounting keeps no average."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from dsportal.amounts import SECONDS_PER_DAY
from spawner.slurm.sacct import Allocation

# A session could name any number of jobs.
_MOST_OF_USER = 5000
_KEPT_S = 400 * SECONDS_PER_DAY
_PATIENCE_S = 5.0
_TABLE = """
CREATE TABLE IF NOT EXISTS gpu_use (
    user TEXT, job_id INTEGER, percent REAL, at_s REAL, PRIMARY KEY (user, job_id)
) WITHOUT ROWID
"""
_BY_AGE = "CREATE INDEX IF NOT EXISTS by_age ON gpu_use (at_s)"
_FORGET_OLD = "DELETE FROM gpu_use WHERE at_s < ?"
_FORGET_MANY = """
DELETE FROM gpu_use WHERE user = :user AND job_id NOT IN (
    SELECT job_id FROM gpu_use WHERE user = :user ORDER BY at_s DESC LIMIT :most
)
"""
_OF_ALL = "SELECT user, job_id, percent FROM gpu_use"
_OF_USER = "SELECT user, job_id, percent FROM gpu_use WHERE user = ?"


class GpuRecord:
    """The average use of the GPUs of jobs, in a file of the hub.

    Args:
        path: The file. Only the hub writes it; there is none before the first report.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def on(self, cluster: str) -> "GpuRecord":
        """Return the record of a cluster, "" for the first: ids of jobs are of one cluster."""
        stem = f"{self._path.stem}-{cluster}" if cluster else self._path.stem
        return GpuRecord(self._path.with_stem(stem))

    def keep(self, user: str, percents: Mapping[int, float], *, at_s: float) -> None:
        """Keep the average use of a user's jobs so far, 0 to 100 by job, in place of earlier ones.

        Args:
            at_s: Now, in seconds since 1970 (UTC).

        Raises:
            sqlite3.Error: If the file cannot be written.
        """
        self._path.touch(mode=0o600)
        with closing(sqlite3.connect(self._path, timeout=_PATIENCE_S)) as base, base:
            base.execute(_TABLE)
            base.execute(_BY_AGE)
            rows = [(user, job_id, percent, at_s) for job_id, percent in percents.items()]
            base.executemany("INSERT OR REPLACE INTO gpu_use VALUES (?, ?, ?, ?)", rows)
            base.execute(_FORGET_OLD, (at_s - _KEPT_S,))
            base.execute(_FORGET_MANY, {"user": user, "most": _MOST_OF_USER})

    def read(self, user: str = "") -> dict[tuple[str, int], float]:
        """Return the average use, 0 to 100, by user and job, of one `user` or of all.

        A file that cannot be read has measured nothing.
        """
        try:
            uri = f"{self._path.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE_S)) as base:
                rows = base.execute(_OF_USER, (user,)) if user else base.execute(_OF_ALL)
                return {(name, job_id): percent for name, job_id, percent in rows}
        except sqlite3.Error:
            return {}

    def fill_in(self, user: str, allocations: Iterable[Allocation]) -> list[Allocation]:
        """Return a user's allocations, with the use of those that accounting has none of."""
        percents = self.read(user)
        return [with_percent(one, percents.get((user, one.job_id))) for one in allocations]


def with_percent(allocation: Allocation, percent: float | None) -> Allocation:
    """Return an allocation with the average use of its GPUs, unless it has one."""
    if percent is None or allocation.gpu_percent is not None:
        return allocation
    return replace(allocation, gpu_percent=percent)
