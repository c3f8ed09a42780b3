"""A `Slurm` whose commands are those of fake_slurm."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from spawner.client.slurm import Slurm

COMMANDS = ("sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo", "sacctmgr")
HERE = Path(__file__).parent


class FakeCluster:
    """One user on a cluster of plain processes.

    Attributes:
        user: Name of the user.
        home: Their home folder.
        slurm: Talks to the cluster.
    """

    def __init__(self, folder: Path) -> None:
        self.user = "ada"
        self.home = folder / "home with 'quotes' and %j"
        self.home.mkdir()
        self._jobs = folder / "jobs"
        self._jobs.mkdir()
        self.bin = folder / "bin"
        self.bin.mkdir()
        program = self.bin / "fake_slurm"
        # Without its site packages Python starts in a third of the time.
        program.write_text(f"#!{sys.executable} -IS\n" + (HERE / "fake_slurm").read_text())
        program.chmod(0o755)
        for name in COMMANDS:
            (self.bin / name).symlink_to(program)
        self.slurm = Slurm(
            launcher_argv=["dsportal-launcher"],
            sudo_argv=[
                sys.executable,
                "-IS",
                str(HERE / "fake_sudo"),
                str(self.home),
                str(self.bin),
            ],
            timeout_s=5.0,
            path=f"{self.bin}:/usr/bin:/bin",
        )

    def set(self, flag: str, *, on: bool) -> None:
        """Switch "down", "hang", "no-accounting", "no-slurmdbd", "private" or "operator"."""
        path = self._jobs / flag
        if on:
            path.touch()
        else:
            path.unlink(missing_ok=True)

    def change(self, job_id: int, **changes: str) -> None:
        """Change what is known of a job, such as its "state" or "n_restarts"."""
        path = self._jobs / f"{job_id}.json"
        new_path = path.with_suffix(".changed")
        new_path.write_text(json.dumps(json.loads(path.read_text()) | changes))
        new_path.replace(path)

    def has_process(self, job_id: int) -> bool:
        """Whether a job's script runs; before that its state must not be changed."""
        return "pid" in json.loads((self._jobs / f"{job_id}.json").read_text())

    def lose(self, job_id: int) -> None:
        """Forget a job, as slurmctld does after a crash."""
        (self._jobs / f"{job_id}.json").unlink()
