"""The folder of a sweep: its points, each with the folder of a run.

~/portal-runs/sweeps/20261120-203845-train-k3v9/     or the name that the user gave
    sweep.json              what it sweeps: the function, the names of the points in their order
    points.pkl              the arguments of each point
    rule.pkl                which points to stop early, if any
    optuna.log              what Optuna's pruner knows of the points, if one decides
    jobs-CLUSTER            the arrays that ran it there, a number in a line
    points/0/               the folder of a run, for each point
        losses.json         by percent of its steps, if the worst points are to be stopped
    job-0.log               what the job of a point itself printed
    tensorboard/000-lr=0.1/ what a point logs for TensorBoard
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dsportal.task.folder import CLUSTER, RunFolder
from dsportal.task.folders import parent_folder
from dsportal.task.pickles import pickled, unpickled
from dsportal.task.stopping import Losses, MedianStopping
from dsportal.whole_file import write_whole

_START = re.compile(r"^[0-9]{8}-[0-9]{6}-")


def sweeps_folder() -> Path:
    """Return the folder with all sweeps of this user."""
    return parent_folder() / "sweeps"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRecord:
    """What a sweep sweeps.

    Attributes:
        source: From `source_hash` of it.
        points: Names of the points, in their order.
        metric: Name of the result that decides; "" for the first number.
    """

    function: str
    source: str
    points: tuple[str, ...]
    metric: str = ""
    is_smallest: bool = False


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """Reads and writes the files of one sweep's folder."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the sweep."""
        return self.path.name

    @property
    def title(self) -> str:
        """Its name without the time of its start, such as "train-k3v9"."""
        return _START.sub("", self.name)

    @property
    def logs(self) -> Path:
        """Folder with a folder for each point, for TensorBoard."""
        return self.path / "tensorboard"

    def run(self, index: int) -> RunFolder:
        """Return the folder of the run of point `index`, from 0, whether it exists or not."""
        return RunFolder(self.path / "points" / str(index))

    def write(self, record: SweepRecord, points: list[dict[str, Any]], rule: object) -> None:
        """Write what it sweeps.

        Args:
            record: Is written last, so that a folder without it is no sweep.
            points: Keyword arguments of each point.
            rule: Which points to stop early, as `read_rule` returns it.
        """
        self._write("points.pkl", pickled(points, "The grid cannot be kept"))
        if rule is not None:
            self._write("rule.pkl", pickled(rule, "The rule of stop_worst cannot be kept"))
        self._write("sweep.json", json.dumps(asdict(record)).encode())

    def read_record(self) -> SweepRecord | None:
        """Return what it sweeps; None if this is no sweep."""
        try:
            values = json.loads((self.path / "sweep.json").read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        # Another version of the portal may have written something else.
        if not isinstance(values, dict) or "points" not in values:
            return None
        known = {
            each.name: values[each.name] for each in fields(SweepRecord) if each.name in values
        }
        return SweepRecord(**{**known, "points": tuple(values["points"])})

    def read_points(self) -> list[dict[str, Any]]:
        """Return the keyword arguments of each point."""
        points: list[dict[str, Any]] = unpickled(self.path / "points.pkl")
        return points

    def read_rule(self) -> MedianStopping | Any | None:
        """Return which points to stop early: one of Optuna's pruners may say it; None for none."""
        try:
            return unpickled(self.path / "rule.pkl")
        except FileNotFoundError:
            return None

    @property
    def _jobs(self) -> Path:
        # On another cluster the numbers mean other jobs.
        return self.path / f"jobs-{os.environ.get(CLUSTER, '')}"

    def add_job(self, job_id: int) -> None:
        """Note an array that runs it."""
        with self._jobs.open("a", encoding="ascii") as file:
            file.write(f"{job_id}\n")

    def read_jobs(self) -> list[int]:
        """Return the arrays that have run it on this cluster, the newest last."""
        try:
            return [int(line) for line in self._jobs.read_text("ascii").split()]
        except FileNotFoundError:
            return []

    @property
    def was_elsewhere(self) -> bool:
        """Whether arrays of another cluster have run it, too."""
        return any(path != self._jobs for path in self.path.glob("jobs-*"))

    def write_losses(self, index: int, losses: Losses) -> None:
        """Write the losses of point `index` by percent of its steps."""
        self._write(f"points/{index}/losses.json", json.dumps(dict(losses)).encode())

    def read_losses(self, n_points: int) -> list[Losses]:
        """Return the losses of each point by percent of its steps."""
        return [self._losses_of(index) for index in range(n_points)]

    def _losses_of(self, index: int) -> Losses:
        try:
            read: Mapping[str, float] = json.loads(
                (self.path / f"points/{index}/losses.json").read_bytes()
            )
        except FileNotFoundError:
            return {}
        return {int(percent): loss for percent, loss in read.items()}

    def _write(self, name: str, content: bytes) -> None:
        write_whole(self.path / name, content, mode=0o600)


def all_sweeps() -> Iterator[tuple[SweepFolder, SweepRecord]]:
    """Yield the sweeps of this user, the newest first."""
    files = [
        (path.stat().st_mtime_ns, path.parent) for path in sweeps_folder().glob("*/sweep.json")
    ]
    for _, path in sorted(files, reverse=True):
        folder = SweepFolder(path)
        if (record := folder.read_record()) is not None:
            yield folder, record
