"""What users do with files on NFS: runs, checkpoints and TensorBoards, on several machines."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.lab.nfs.conftest import CELL_TIMEOUT_S, HOME, USER, Bystander, Session
from tests.lab.nfs.file_server import FileServer
from tests.lab.nfs.guest_layout import EXPORT
from tests.support import event_files
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster
TENSORBOARD_PYTHON = "/opt/data-scientist-portal/environments/tensorboard/bin/python"
MOST_WAIT_S = 10
# A server that starts lets nobody write for 10 s here, and clients ask every 5 s.
RECOVERY_TIMEOUT_S = 120
ON_TWO_NODES = """
from dsportal import checkpoint, run

def count(until):
    import os
    saved = checkpoint.latest("step")
    step = int(saved.read_text()) if saved else 0
    while step < until:
        step += 1
        with checkpoint.writing("step") as path:
            path.write_text(str(step))
    return step, os.environ["SLURMD_NODENAME"]

print("first", run(count, 3)[0])
print("resumed", run(count, 3, gpus=2, nodes=2, resume=True, results="all"))
"""
UNTIL_IT_IS_ENOUGH = """
from dsportal import run

def write():
    import os, pathlib, time
    step = 0
    with open("steps", "w") as file:
        while not pathlib.Path("enough").exists():
            step += 1
            print(step, file=file, flush=True)
            os.fsync(file.fileno())
            time.sleep(0.2)
    return step

print("wrote", run(write))
"""


def write_curves(name: str) -> None:
    """Write curves below the home, as a training on the head would."""
    write = [TENSORBOARD_PYTHON, "-I", "-", str(HOME / name), "20"]
    subprocess.run(
        ["runuser", "-u", USER, "--", *write],
        input=Path(event_files.__file__).read_text(),
        text=True,
        check=True,
        timeout=120,
    )


def n_steps(nfs: FileServer) -> int:
    """Return how many lines the server has of a run that writes on."""
    return nfs.order("cat", f"{EXPORT}/{USER}/steps").count("\n")


def test_ranks_on_two_nodes_resume_from_a_checkpoint_of_one(running: Session) -> None:
    shown = running.run_cell(ON_TWO_NODES)

    assert "first 3" in shown
    assert "resumed [(3, 'node01'), (3, 'node02')]" in shown


def test_a_run_and_its_session_outlive_a_restart_of_the_server(
    running: Session, nfs: FileServer, bystander: Bystander
) -> None:
    with bystander, ThreadPoolExecutor() as pool:
        cell = pool.submit(running.run_cell, UNTIL_IT_IS_ENOUGH)
        eventually(lambda: n_steps(nfs) > 2, CELL_TIMEOUT_S, every_s=1)
        with nfs.stopped():
            saved = pool.submit(running.save, "during.txt", "during")
            running.page()
            before = n_steps(nfs)
        eventually(lambda: n_steps(nfs) > before + 2, RECOVERY_TIMEOUT_S, every_s=1)
        assert running.save("enough", "").ok
        shown = cell.result(CELL_TIMEOUT_S)
        assert saved.result(RECOVERY_TIMEOUT_S).ok

    written = nfs.order("cat", f"{EXPORT}/{USER}/steps").split()
    assert written == [str(1 + number) for number in range(len(written))]
    assert f"wrote {len(written)}" in shown
    assert running.ask("GET", "api/contents/during.txt").json()["content"] == "during"
    assert max(bystander.waits_s) < MOST_WAIT_S


def test_a_tensorboard_shows_what_another_machine_writes_also_after_a_restart(
    running: Session, nfs: FileServer
) -> None:
    write_curves("logs/first")
    opened = running.ask("POST", "portal/api/tensorboards", json={"logdir": "logs"})
    assert opened.status_code == 201, opened.text
    runs = f"portal/tensorboards/{opened.json()['id']}/data/runs"
    eventually(lambda: running.ask("GET", runs).json() == ["first"], RECOVERY_TIMEOUT_S, every_s=1)

    with nfs.stopped():
        running.page()
    write_curves("logs/second")

    eventually(
        lambda: running.ask("GET", runs).json() == ["first", "second"],
        RECOVERY_TIMEOUT_S,
        every_s=1,
    )
