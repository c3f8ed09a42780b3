"""Programs of a benchmark that run in a real session and print a line for each measurement."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.lab.benchmarks.printed import END, ProgramError, measurements, rows_of
from tests.support.eventually import eventually
from tests.support.slurm_queue import is_queued
from tests.templates.conftest import ENVIRONMENTS, SlurmSession

SHARED_DIR = Path(__file__).resolve().parents[3] / "notebook_templates" / "shared"
TIMEOUT_S = 1500
N_SHOWN = 8_000
# Seldom: each look takes time from what is measured.
LOOK_EVERY_S = 5


def measure_in_session(
    program: Path,
    *words: str,
    environment: str,
    beside: Iterable[Path] = (),
    timeout_s: float = TIMEOUT_S,
) -> list[dict[str, Any]]:
    """Run a program in a session of its own, and print what it finds as it finds it.

    Args:
        program: Prints "FOUND " and a line of JSON for each measurement.
        *words: Its arguments.
    """
    session = SlurmSession("ada")
    try:
        for path in (program, *beside):
            shutil.copy(path, session.programs_dir)
        python = ENVIRONMENTS / environment / "bin" / "python"
        command = session.command_line(program.name, *words, python=python)
        job_id = session.submit(command, f'echo "{END}$?"')
        return measurements(_follow(session, job_id, timeout_s))
    finally:
        session.remove()


def _follow(session: SlurmSession, job_id: str, timeout_s: float) -> str:
    path = session.working_dir / f"job-{job_id}.txt"
    n_seen = 0

    def is_over() -> bool:
        nonlocal n_seen
        is_running = is_queued(job_id)
        rows = rows_of(path.read_text(errors="replace")) if path.exists() else []
        for row in rows[n_seen:]:
            print(" ", ", ".join(f"{name} {_short(value)}" for name, value in row.items()))
        print(end="", flush=True)
        n_seen = len(rows)
        return not is_running

    try:
        eventually(is_over, timeout_s=timeout_s, every_s=LOOK_EVERY_S)
    except AssertionError as error:
        printed = path.read_text(errors="replace")[-N_SHOWN:] if path.exists() else ""
        raise ProgramError(f"It took more than {timeout_s:g} s. It printed:\n{printed}") from error
    finally:
        subprocess.run(["scancel", job_id], check=False)
    return path.read_text(errors="replace")


def _short(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
