"""The folder of a sweep: its points, each with the folder of a run.

~/portal-runs/sweeps/20261120-203845-train-k3v9/
    sweep.json              the names of the points, in their order
    job.json                the newest array
    points/0/               the folder of a run, for each point
    job-0.log               what the job of a point itself printed
    tensorboard/000-lr=0.1/ what a point logs for TensorBoard
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dsportal.task.folder import RunFolder
from dsportal.task.folders import folder_title, parent_folder
from dsportal.whole_file import write_whole


def sweeps_folder() -> Path:
    """Return the folder with all sweeps of this user."""
    return parent_folder() / "sweeps"


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """Reads and writes the files of one sweep's folder."""

    path: Path

    @property
    def logs(self) -> Path:
        """Folder with a folder for each point, for TensorBoard."""
        return self.path / "tensorboard"

    def run(self, index: int) -> RunFolder:
        """Return the folder of the run of point `index`, from 0, whether it exists or not."""
        return RunFolder(self.path / "points" / str(index))

    def write_points(self, names: Sequence[str]) -> None:
        """Write the names of the points."""
        write_whole(self.path / "sweep.json", json.dumps(list(names)).encode(), mode=0o600)

    def read_points(self) -> list[str]:
        """Return the names of the points; none if this is no sweep."""
        try:
            return [str(each) for each in json.loads((self.path / "sweep.json").read_bytes())]
        except FileNotFoundError:
            return []


def find_sweep(name: str, points: Sequence[str]) -> SweepFolder | None:
    """Return the newest sweep of a function with the same points, or None."""
    found = sorted(sweeps_folder().glob(f"*-{folder_title(name)}-*"), reverse=True)
    return next((each for each in map(SweepFolder, found) if each.read_points() == [*points]), None)
