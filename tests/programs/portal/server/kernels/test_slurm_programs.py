"""Slurm's programs for kernels in images: a client as in the image, and programs outside of it."""

import json
import logging
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsportal.launch import outside
from portal.server.kernels import slurm_programs
from portal.server.kernels.slurm_programs import VARIABLE, SlurmPrograms, environment_outside
from tests.support.eventually import eventually

SRUN = f"""#!{sys.executable}
import os, signal, sys

def end(number, frame):
    print("told", number, flush=True)
    os._exit(7)

for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, end)
print(sys.argv[1:], os.environ.get("OF_THE_CELL"), os.environ.get("LD_LIBRARY_PATH"), flush=True)
print("and an error", file=sys.stderr, flush=True)
open(sys.argv[1], "w").write(str(os.getpid()))
if "stay" in sys.argv:
    signal.pause()
sys.exit(3)
"""
ECHO = f"""#!{sys.executable}
import sys
print(sys.stdin.read().upper())
"""


@pytest.fixture
def socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The socket of a notebook server whose node has a Slurm."""
    for name, text in (("srun", SRUN), ("sbatch", ECHO)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    # Restored afterwards.
    monkeypatch.setenv(VARIABLE, "")
    programs = SlurmPrograms(tmp_path, logging.getLogger())
    programs.open()
    yield Path(os.environ[VARIABLE])
    programs.close()


def command(socket: Path, *words: object) -> list[str]:
    return [sys.executable, "-I", "-S", outside.__file__, str(socket), *map(str, words)]


def start(socket: Path, *words: object) -> subprocess.Popen[str]:
    """Start a program of Slurm's as a kernel in an image does."""
    return subprocess.Popen(
        command(socket, *words),
        env={"PATH": "/of/the/image", "LD_LIBRARY_PATH": "/of/the/image", "OF_THE_CELL": "set"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_both_sides_know_the_socket_by_one_name() -> None:
    assert outside.SOCKET_VARIABLE == VARIABLE


def test_a_program_gets_arguments_streams_and_what_the_user_has_set(
    socket: Path, tmp_path: Path
) -> None:
    running = start(socket, "srun", tmp_path / "pid", "--label")

    assert running.communicate(timeout=60)[0] == (
        f"{[str(tmp_path / 'pid'), '--label']} set None\nand an error\n"
    )
    assert running.returncode == 3


def test_a_script_comes_by_standard_input(socket: Path) -> None:
    done = subprocess.run(
        command(socket, "sbatch"), input="a script", capture_output=True, text=True, check=True
    )

    assert done.stdout == "A SCRIPT\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_reaches_the_program(socket: Path, tmp_path: Path, number: signal.Signals) -> None:
    running = start(socket, "srun", tmp_path / "pid", "stay")
    eventually((tmp_path / "pid").read_text, timeout_s=60)

    running.send_signal(number)

    assert f"told {int(number)}" in running.communicate(timeout=60)[0]
    assert running.returncode == 7


def test_the_program_of_a_kernel_that_was_killed_ends(socket: Path, tmp_path: Path) -> None:
    running = start(socket, "srun", tmp_path / "pid", "stay")
    pid = int(eventually((tmp_path / "pid").read_text, timeout_s=60))

    running.kill()
    running.communicate(timeout=60)

    eventually(lambda: not Path(f"/proc/{pid}").exists(), timeout_s=60)


def test_a_program_that_does_not_end_is_killed(
    socket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_programs, "_ENDS_WITHIN_S", 0.1)
    deaf = "trap '' TERM; echo $$ > pid; while true; do /bin/sleep 0.1; done"
    (tmp_path / "scancel").write_text(f"#!/bin/sh\ncd {tmp_path}; {deaf}\n")
    (tmp_path / "scancel").chmod(0o755)
    running = start(socket, "scancel")
    pid = int(eventually((tmp_path / "pid").read_text, timeout_s=60))

    running.kill()
    running.communicate(timeout=60)

    eventually(lambda: not Path(f"/proc/{pid}").exists(), timeout_s=60)


@pytest.mark.parametrize(
    ("program", "status", "sentence"),
    [("bash", 126, "bash is none of Slurm's"), ("sacct", 127, "sacct cannot be started")],
)
def test_what_cannot_be_started_is_a_sentence(
    socket: Path, program: str, status: int, sentence: str
) -> None:
    running = start(socket, program)

    assert sentence in running.communicate(timeout=60)[0]
    assert running.returncode == status


def test_a_server_that_has_gone_is_a_sentence(tmp_path: Path) -> None:
    running = start(tmp_path / "absent", "srun")

    assert "restart the kernel too" in running.communicate(timeout=60)[0]
    assert running.returncode == 1


def test_only_the_user_can_open_the_socket(socket: Path) -> None:
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600


def test_what_an_image_set_for_its_own_programs_stays_in_it() -> None:
    inside = {"PATH": "/image", "PYTHONHOME": "/image", "NCCL_DEBUG": "INFO", "SLURM_JOB_ID": "7"}
    outside_ = {"PATH": "/usr/bin", "SLURM_CONF": "/etc/slurm.conf", "SLURM_NTASKS": "1"}

    assert environment_outside(inside, outside_) == {
        "PATH": "/usr/bin",
        "NCCL_DEBUG": "INFO",
        "SLURM_JOB_ID": "7",
        "SLURM_CONF": "/etc/slurm.conf",
    }


def test_only_a_kernel_in_an_image_goes_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(outside.SOCKET_VARIABLE, "/run/slurm")
    monkeypatch.delenv(outside.IMAGE_VARIABLE, raising=False)
    assert outside.reach(["squeue", "--me"]) == ["squeue", "--me"]
    assert outside.read_image_start(os.environ) is None

    words = {"python": "/opt/python", "rank": ["apptainer", "exec", "a.sif", "python3"]}
    monkeypatch.setenv(outside.IMAGE_VARIABLE, json.dumps(words))

    assert outside.reach(["squeue", "--me"])[-3:] == ["/run/slurm", "squeue", "--me"]
    start = outside.read_image_start(os.environ)
    assert start is not None
    assert (start.python, start.rank[-1]) == ("/opt/python", "python3")
