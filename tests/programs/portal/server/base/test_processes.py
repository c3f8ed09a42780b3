"""The session's programs one by one, on real processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from dsportal.start.kernel_ports import FORWARDER
from portal.server.base.commands import terminal_shell
from portal.server.base.processes import (
    N_SHOWN,
    THE_PORTAL,
    Activity,
    ProcessReader,
    ProcessUse,
    name_of,
)
from portal.server.viewers.mlflow.pages import MLFLOW
from portal.server.viewers.viewer import TENSORBOARD
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

    shown = reader.read().shown({busy_pid: 300}, {}, {})

    assert [(one.pid, one.gpu_memory_mib) for one in shown] == [(busy_pid, 300), (os.getpid(), 0)]


def use(name: str, **values: Any) -> ProcessUse:
    return ProcessUse(**{"pid": 7, "cpu_percent": 0.0, "memory_mib": 1, **values}, name=name)


def test_what_the_portal_runs_is_one_line_at_the_end() -> None:
    activity = Activity(
        processes=(
            use(THE_PORTAL, cpu_percent=90.0, memory_mib=200),
            use("train.py", pid=8),
            use(THE_PORTAL, cpu_percent=5.0, memory_mib=10, pid=9),
        )
    )

    shown = activity.shown({9: 4}, {}, {})

    assert [one.name for one in shown] == ["train.py", "The portal"]
    assert (shown[1].cpu_percent, shown[1].memory_mib, shown[1].gpu_memory_mib) == (95.0, 210, 4)


def test_many_programs_leave_room_for_the_portal() -> None:
    programs = [use(f"{n}.py", pid=n) for n in range(20)]
    shown = Activity(processes=(use(THE_PORTAL), *programs)).shown({}, {}, {})

    assert len(shown) == N_SHOWN
    assert shown[-1].name == THE_PORTAL


def test_a_kernel_has_the_name_of_its_notebook() -> None:
    kernels = (use("Kernel", kernel_id="0a1b"), use("Kernel", kernel_id="2c", pid=8))
    shown = Activity(processes=kernels).shown({}, {"0a1b": "work/digits.ipynb"}, {})

    assert [one.name for one in shown] == ["Kernel of digits.ipynb", "Kernel"]


def test_a_tensorboard_has_the_name_of_its_folder_and_is_the_portals_before() -> None:
    boards = (use(THE_PORTAL, pid=7), use(THE_PORTAL, pid=8))
    shown = Activity(processes=boards).shown({}, {}, {7: "TensorBoard of work/logs"})

    assert [one.name for one in shown] == ["TensorBoard of work/logs", THE_PORTAL]


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
        (["python", "-m", "dsportal.worker.rank", "/run"], "Rank of run()"),
        (["/usr/bin/bash", "-l"], "Terminal (bash)"),
        (["-bash"], "Terminal (bash)"),
        (terminal_shell("/bin/bash") or [], "The portal"),
        ((terminal_shell("/bin/bash") or [])[8:], "Terminal (bash)"),
        (["/bin/bash", "-c", "sleep 9"], "Command (bash)"),
        (["/bin/bash", "/home/ada/train.sh"], "train.sh"),
        (["/opt/code-server/lib/node", "/opt/code-server/out/node/entry.js"], "VS Code"),
        (
            ["/env/lib/tensorboard_data_server/bin/server", "--logdir=logs"],
            "Reader of TensorBoard's logs",
        ),
        (["python", "-I", str(TENSORBOARD.program)], THE_PORTAL),
        (["python", "-I", str(MLFLOW.program), "9"], THE_PORTAL),
        (["slurmstepd: [5.batch]"], "The portal"),
        (["python", "-I", "/e/site-packages/spawner/node/log_limit.py", "9"], "The portal"),
        ([], "nvidia-smi"),
    ],
)
def test_a_program_has_the_name_that_people_use(command: list[str], name: str) -> None:
    assert name_of(command, "nvidia-smi") == name


def test_what_forwards_the_ports_of_a_kernel_is_none_of_the_users() -> None:
    # Forked from the kernel, it has the kernel's arguments.
    command = ["python", "-c", "code", "-f", "/run/user/kernel-0a1b-2c.json"]

    assert name_of(command, FORWARDER) == THE_PORTAL
