import os
import sys
from pathlib import Path

import pytest

from dsportal.launch import step
from dsportal.launch.step import JobStep

NAME = "20261120-203845-train-k3v9"
SQUEUE = f"""#!{sys.executable}
import re, sys

formats = [word.partition("=")[2] for word in sys.argv if word.startswith("--format=")]
steps = [{{"i": "41.0", "j": "batch"}}, {{"i": "41.2", "j": {NAME!r}}}]
for fields in steps if "--steps" in sys.argv and "--jobs=41" in sys.argv else ():
    print(re.sub("%([a-z])", lambda letter: fields[letter[1]], formats[0]))
print("guessed|41.9|{NAME}")
"""
SCANCEL = """#!/bin/sh
echo "$@" >> "$HOME/scancel.txt"
"""
# As a srun that a signal does not end.
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True)"


def test_of_a_step_that_does_not_end_slurm_kills_this_step_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("squeue", SQUEUE), ("scancel", SCANCEL)):
        program = tmp_path / name
        program.write_text(text)
        program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    monkeypatch.setattr(step, "TERMINATE_WITHIN_S", 0.1)
    monkeypatch.setattr(step, "KILL_WITHIN_S", 0.1)
    # squeue's stand-in is slow on a busy machine.
    monkeypatch.setattr(step, "_SLURM_TIMEOUT_S", 60)
    environ = {"HOME": str(tmp_path), "PATH": path, "SLURM_JOB_ID": "41"}
    running = JobStep([sys.executable, "-c", f"{DEAF}; signal.pause()"], environ, NAME)
    assert next(running.lines()) == b"on\n"

    running.stop()

    assert (tmp_path / "scancel.txt").read_text() == "--signal=KILL 41.2\n"
