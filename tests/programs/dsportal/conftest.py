import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.support.launch_contract")

from tests.support.checkout import CHECKOUT, PYTHONPATH  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.launch_contract import CASES  # noqa: E402
from tests.support.outcomes import Outcome, read_outcomes  # noqa: E402

PROGRAM = CHECKOUT / "tests" / "support" / "launch_cases.py"


class StandInSession:
    """A session whose srun is `fake_srun`: no Slurm, everything else as it is."""

    node = "node01"
    gpu_words = "a simulated GPU"

    def __init__(self, folder: Path) -> None:
        programs = folder / "bin"
        programs.mkdir()
        programs.joinpath("srun").symlink_to(Path(__file__).with_name("fake_srun"))
        for name in ("sbatch", "squeue", "scancel", "sacct", "scontrol"):
            programs.joinpath(name).symlink_to(Path(__file__).with_name("fake_queue"))
        commands = folder / "commands"
        commands.mkdir()
        text = (
            f"#!{sys.executable}\nfrom portal.cli import user_main\nraise SystemExit(user_main())\n"
        )
        commands.joinpath("dsportal").write_text(text)
        commands.joinpath("dsportal").chmod(0o755)
        self.working_dir = folder / "notebooks"
        self.working_dir.mkdir()
        self.environ = {
            "HOME": str(folder),
            "PATH": f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "PYTHONPATH": PYTHONPATH,
            "SLURM_JOB_ID": "77",
            "SLURM_CPUS_ON_NODE": "16",
            "SLURM_NTASKS": "1",
            "SLURMD_NODENAME": "node01",
            "PORTAL_COMMANDS": str(commands),
            "PORTAL_N_GPUS": "2",
            "PORTAL_GPUS_SIMULATED": "1",
        }

    def run_case(self, name: str) -> Outcome:
        return self._outcomes[name]

    @cached_property
    def _outcomes(self) -> dict[str, Outcome]:
        return self.run_cases(CASES)

    def run_cases(self, names: Sequence[str]) -> dict[str, Outcome]:
        """Run cases one after the other in one kernel."""
        done = subprocess.run(
            [sys.executable, str(PROGRAM), *names],
            env=self.environ,
            cwd=self.working_dir,
            capture_output=True,
            # All cases, one after the other: a busy machine needs more than a minute.
            timeout=240,
            check=False,
        )
        printed = done.stdout.decode()
        if done.returncode != 0:
            pytest.fail(f"{printed}\n{done.stderr.decode()}")
        return read_outcomes(printed)

    def lose_kernel(self) -> None:
        kernel = subprocess.Popen(
            [sys.executable, str(PROGRAM), "lost_kernel"],
            env=self.environ,
            cwd=self.working_dir,
            stdout=subprocess.DEVNULL,
        )
        eventually(lambda: len(self._pids()) == 2, timeout_s=20)
        kernel.send_signal(signal.SIGKILL)
        kernel.wait()

    def wait_until_no_rank_runs(self, timeout_s: float) -> None:
        eventually(lambda: not any(map(_runs, self._pids())), timeout_s=timeout_s)

    def _pids(self) -> list[int]:
        texts = [path.read_text() for path in self.working_dir.glob("lost_kernel/*.pid")]
        return [int(text) for text in texts if text]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> StandInSession:
    return StandInSession(tmp_path_factory.mktemp("session"))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
