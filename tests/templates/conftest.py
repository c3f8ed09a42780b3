"""Slurm jobs of the demo users with the shape of a session, in which cases and notebooks run.

test_in_sessions.py runs templates in sessions that were started at the hub.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from portal.environments.command import FIRST_IN_PATH
from portal.server.viewers.mlflow.tracking import FOLDER as MLFLOW_FOLDER
from portal.server.viewers.mlflow.tracking import VARIABLES as MLFLOW_VARIABLES

pytest.register_assert_rewrite("tests.support.launch_contract")

from tests.support.eventually import eventually  # noqa: E402
from tests.support.launch_contract import CASES  # noqa: E402
from tests.support.outcomes import Outcome, read_outcomes  # noqa: E402
from tests.support.slurm_queue import is_queued  # noqa: E402
from tests.templates import tested  # noqa: E402

if TYPE_CHECKING:
    from tests.templates.notebooks import Executed

TESTS_DIR = Path(__file__).resolve().parents[1]
PROGRAMS = (
    TESTS_DIR / "support" / "launch_cases.py",
    TESTS_DIR / "support" / "wheels.py",
    TESTS_DIR / "templates" / "training_cases.py",
    TESTS_DIR / "templates" / "torch_cases.py",
    TESTS_DIR / "templates" / "study_cases.py",
    TESTS_DIR / "lab/optional" / "mxnet_cases.py",
    TESTS_DIR / "lab/optional" / "mpi_cases.py",
    TESTS_DIR / "templates" / "kernel_cases.py",
    TESTS_DIR / "templates" / "data_cases.py",
    TESTS_DIR / "templates" / "mlflow_cases.py",
    TESTS_DIR / "templates" / "tensorboard_cases.py",
)
ENVIRONMENTS = Path("/opt/data-scientist-portal/environments")
LIBRARY = ENVIRONMENTS / "server/library"
# What a CPU decides; set, it shows the notebooks as another kind of CPU would run them.
DECIDED_BY_CPU = ("TF_ENABLE_ONEDNN_OPTS", "ONEDNN_MAX_CPU_ISA")
KERNEL_PYTHON = ENVIRONMENTS / "tensorflow" / "bin" / "python"
SETTINGS = tomllib.loads(Path("/etc/data-scientist-portal/portal.toml").read_text())
N_GPUS = 2
JOB_TIMEOUT_S = 1200


class SlurmSession:
    """A folder of a demo user, and jobs with the shape of a session that run in it."""

    def __init__(self, user: str) -> None:
        self.user = user
        account = pwd.getpwnam(user)
        self.working_dir = Path(account.pw_dir) / f"portal-test-{secrets.token_hex(4)}"
        self.working_dir.mkdir(mode=0o700)
        os.chown(self.working_dir, account.pw_uid, account.pw_gid)
        self.is_simulated = bool(SETTINGS["site"]["simulated_gpus"])
        self.gpu_words = "a simulated GPU" if self.is_simulated else "a GPU"
        self.working_dir.joinpath("isilon").symlink_to(SETTINGS["storage"]["isilon"])
        # The checkout may lie where the user or the node cannot read it.
        self.programs_dir = self.working_dir / "programs"
        self.programs_dir.mkdir()
        for program in PROGRAMS:
            shutil.copy(program, self.programs_dir)

    def remove(self) -> None:
        shutil.rmtree(self.working_dir)

    def submit(self, *lines: str, node: str | None = None) -> str:
        """Submit shell lines as one session's job; return the job's id."""
        environ = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PORTAL_N_GPUS": str(N_GPUS),
            # As a session has them, so that importing TensorFlow prints nothing.
            "PORTAL_LIBRARY": str(LIBRARY),
            "PORTAL_COMMANDS": str(ENVIRONMENTS / "server/commands"),
            "PYTHONPATH": str(LIBRARY / FIRST_IN_PATH),
            "MLFLOW_TRACKING_URI": (self.working_dir / MLFLOW_FOLDER).as_uri(),
            **MLFLOW_VARIABLES,
            **({"PORTAL_GPUS_SIMULATED": "1"} if self.is_simulated else {}),
            **{name: os.environ[name] for name in DECIDED_BY_CPU if name in os.environ},
        }
        options = ["--nodes=1", "--ntasks=1", f"--gpus-per-node={N_GPUS}", "--time=25"]
        done = subprocess.run(
            [
                *("/usr/sbin/runuser", "-u", self.user, "--", "sbatch", "--parsable", *options),
                f"--chdir={self.working_dir}",
                f"--output={self.working_dir}/job-%j.txt",
                *([f"--nodelist={node}"] if node else []),
            ],
            input="\n".join(
                [
                    "#!/bin/bash",
                    f"export HOME={self.working_dir}",
                    "echo NODE $SLURMD_NODENAME",
                    *lines,
                    "",
                ]
            ),
            env=environ,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.fail(f"sbatch: {done.stderr}")
        return done.stdout.strip().partition(";")[0]

    def output_of(self, job_id: str) -> str:
        """Wait for a job's end and return what it printed."""
        try:
            eventually(lambda: not is_queued(job_id), timeout_s=JOB_TIMEOUT_S)
        finally:
            subprocess.run(["scancel", job_id], check=False)
        return self.working_dir.joinpath(f"job-{job_id}.txt").read_text(errors="replace")

    def run_cases(
        self, program: Path, names: Sequence[str], python: Path = KERNEL_PYTHON
    ) -> dict[str, Outcome]:
        """Run cases of a program one after the other in one session."""
        command = self.command_line(program.name, *names, python=python)
        printed = self.output_of(self.submit(command))
        first_line, _, rest = printed.partition("\n")
        self.node = first_line.removeprefix("NODE ")
        outcomes = read_outcomes(rest)
        if outcomes.keys() != set(names):
            pytest.fail(printed)
        return outcomes

    def run_case(self, name: str) -> Outcome:
        return self._outcomes[name]

    @cached_property
    def _outcomes(self) -> dict[str, Outcome]:
        return self.run_cases(TESTS_DIR / "support" / "launch_cases.py", CASES)

    def start_case(self, name: str) -> str:
        """Start one case in a session of its own; return the job's id."""
        return self.submit(self.command_line("launch_cases.py", name))

    def command_line(self, program: str, *names: str, python: Path = KERNEL_PYTHON) -> str:
        path = self.programs_dir / program
        return f"PYTHONPATH={self.programs_dir} {python} {path} {' '.join(names)}"

    def lose_kernel(self) -> None:
        """Kill a kernel in a session whose job goes on for a while."""
        pids = "lost_kernel/*.pid"
        self._job_without_kernel = self.submit(
            f"{self.command_line('launch_cases.py', 'lost_kernel')} &",
            f"until [ $(cat {pids} 2>/dev/null | wc -l) = 2 ]; do sleep 0.1; done",
            f"echo RANKS $(ps -o pid= -p $(cat {pids} | paste -sd,) | wc -l)",
            "kill -KILL $!",
            "for attempt in $(seq 40); do",
            f'  [ -n "$(ps -o pid= -p $(cat {pids} | paste -sd,))" ] || break',
            "  sleep 0.2",
            "done",
            f"echo LEFT $(ps -o pid= -p $(cat {pids} | paste -sd,) | wc -l)",
        )

    def wait_until_no_rank_runs(self, timeout_s: float) -> None:
        printed = self.output_of(self._job_without_kernel)
        assert "RANKS 2\n" in printed
        assert "LEFT 0\n" in printed


def run_beside(job_id: str, user: str, program: str) -> str:
    """Run a Python program as a user on the node of a job; return what it printed."""
    node = subprocess.run(
        ["squeue", "--noheader", f"--jobs={job_id}", "--format=%N"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    session = SlurmSession(user)
    try:
        job = session.submit("/usr/bin/python3 - <<'END'", program, "END", node=node)
        return session.output_of(job).partition("\n")[2].strip()
    finally:
        session.remove()


@pytest.fixture(scope="module")
def session() -> Iterator[SlurmSession]:
    session = SlurmSession("grace")
    yield session
    session.remove()


@pytest.fixture(scope="module")
def executed(session: SlurmSession) -> Callable[[str], Executed]:
    """Run a notebook when it is asked for first, and return what it has shown."""
    from tests.templates.notebooks import execute

    return cache(lambda name: execute(session, name))


def pytest_sessionfinish(exitstatus: int) -> None:
    """Leave a record for the launcher; notebook_templates/tested.json is a copy of it."""
    if exitstatus == 0:
        tested.write(Path(__file__).parents[1] / "output/templates/tested.json")
