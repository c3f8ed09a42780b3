"""The session's programs one by one, on real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from portal.server.session.processes import Activity, ProcessReader, name_of
from tests.support.eventually import eventually


@pytest.fixture
def busy_pid() -> Iterator[int]:
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield program.pid
    program.kill()
    program.wait()


def test_the_busiest_program_is_found_without_the_server_itself(busy_pid: int) -> None:
    reader = ProcessReader(lambda: [os.getpid(), busy_pid])
    first = reader.read()
    assert [process.cpu_percent for process in first.processes] == [0.0, 0.0]

    def is_busy() -> Activity | None:
        activity = reader.read()
        return activity if activity.busiest_percent(without=os.getpid()) else None

    activity = eventually(is_busy, timeout_s=30)

    (busy,) = (process for process in activity.processes if process.pid == busy_pid)
    assert activity.busiest_percent(without=os.getpid()) == busy.cpu_percent
    assert busy.name == "Python"
    assert busy.memory_mib > 1


def test_programs_that_hold_gpu_memory_come_first(busy_pid: int) -> None:
    reader = ProcessReader(lambda: [os.getpid(), busy_pid])
    reader.read()

    shown = reader.read().shown({os.getpid(): 300})

    assert [(one.pid, one.gpu_memory_mib) for one in shown] == [(os.getpid(), 300), (busy_pid, 0)]


def test_a_program_that_has_ended_is_left_out(busy_pid: int) -> None:
    reader = ProcessReader(lambda: [busy_pid, 2**22 + 1])

    assert [process.pid for process in reader.read().processes] == [busy_pid]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "k.json"], "Kernel"),
        (["python", "-c", "code", "-f", "/run/user/kernel-0a1b-2c.json"], "Kernel"),
        (["R", "--args", "/run/user/kernel-0a1b-2c.json"], "Kernel"),
        (["python", "plot-kernel.py", "my-kernel.json"], "plot-kernel.py"),
        (["/env/bin/python", "-u", "/home/ada/train.py", "--epochs", "3"], "train.py"),
        (["python3", "-c", "pass"], "Python"),
        (["python3"], "python3"),
        (["/usr/bin/bash", "-l"], "bash"),
        ([], "nvidia-smi"),
    ],
)
def test_a_program_has_the_name_that_people_use(command: list[str], name: str) -> None:
    assert name_of(command, "nvidia-smi") == name
