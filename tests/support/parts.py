"""Stop, start, kill and freeze single parts of the one-machine portal."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.one_machine.layout import SLURM_DIR, SLURM_STATE_DIR
from deploy.one_machine.supervisor import pid_of
from tests.support.eventually import eventually
from tests.support.put_back import kept, put_back

DEPLOY_DIR = Path(__file__).parents[2] / "deploy"


def start(part: str) -> None:
    """Start one part, for example slurmctld."""
    _deploy("up", part)


def stop(part: str) -> None:
    """Stop one part."""
    _deploy("down", part)


@contextmanager
def stopped(part: str) -> Iterator[None]:
    """Keep one part stopped for a while."""
    stop(part)
    try:
        yield
    finally:
        start(part)


def kill(part: str) -> None:
    """End one part as a crash does; of a node, as a loss of power does."""
    os.kill(_pid(part), signal.SIGKILL)
    eventually(lambda: pid_of(part) is None, timeout_s=10)


def wait_until_saved(job_id: int) -> None:
    """Wait until slurmctld has written down a job: killed before, it would forget it."""
    before = time.time()
    update = ["scontrol", "update", f"JobId={job_id}", "AdminComment=to be saved"]
    subprocess.run(update, check=True, timeout=30)
    job_state = SLURM_STATE_DIR / "job_state"
    eventually(lambda: job_state.stat().st_mtime > before, timeout_s=30)


@contextmanager
def frozen(part: str) -> Iterator[None]:
    """Keep one part from doing anything: those who ask it wait for an answer."""
    pid = _pid(part)
    with put_back(("kill", "-CONT", str(pid))):
        os.kill(pid, signal.SIGSTOP)
        yield


def on_node(node: str, *argv: str) -> str:
    """Run a command on a node as root, and return what it printed."""
    namespaces = ("--net", "--uts", "--mount", "--pid")
    return subprocess.run(
        ["nsenter", f"--target={_pid(node)}", *namespaces, *argv],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout


@contextmanager
def program_on_node(node: str, user: str, program: str) -> Iterator[None]:
    """Run a Python program as a user in a node's network, from its first line of output on."""
    account = pwd.getpwnam(user)
    argv = [
        *("nsenter", f"--target={_pid(node)}", "--net"),
        *(f"--setuid={account.pw_uid}", f"--setgid={account.pw_gid}"),
        *("/usr/bin/python3", "-Ic", program),
    ]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is None or not process.stdout.readline():
                raise RuntimeError(f"the program on {node} ended at once")
            yield
        finally:
            process.kill()


@contextmanager
def remembered_controller() -> Iterator[Callable[[], None]]:
    """Yield what crashes slurmctld and brings it back with the state of the beginning.

    What it was told since is lost, as when it dies before it has saved that.
    """
    with tempfile.TemporaryDirectory(dir=SLURM_STATE_DIR.parent) as folder:
        kept = Path(folder) / "state"
        # It is stopped for the copy, so that all is saved.
        stop("slurmctld")
        _copy_owned(SLURM_STATE_DIR, kept)
        start("slurmctld")

        def crash() -> None:
            kill("slurmctld")
            shutil.rmtree(SLURM_STATE_DIR)
            _copy_owned(kept, SLURM_STATE_DIR)
            start("slurmctld")

        yield crash


@contextmanager
def slurm_setting(line: str) -> Iterator[None]:
    """Put a line into slurm.conf for a while, in place of the one with the same key."""
    path = SLURM_DIR / "slurm.conf"
    key = line.partition("=")[0]
    others = [old for old in path.read_text().splitlines() if old.partition("=")[0] != key]
    reconfigure = ("scontrol", "reconfigure")
    with kept(path, reconfigure):
        path.write_text("\n".join([*others, line, ""]))
        subprocess.run(reconfigure, check=True, timeout=30)
        yield


@contextmanager
def quick_loss_of_nodes() -> Iterator[None]:
    """Have slurmctld give a node up after 20 s without an answer."""
    with slurm_setting("SlurmdTimeout=20"):
        yield


def _copy_owned(source: Path, target: Path) -> None:
    subprocess.run(["cp", "--archive", str(source), str(target)], check=True, timeout=30)


def _pid(part: str) -> int:
    pid = pid_of(part)
    if pid is None:
        raise RuntimeError(f"{part} does not run")
    return pid


def _deploy(program: str, part: str) -> None:
    done = subprocess.run(
        [str(DEPLOY_DIR / program), "--only", part],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"deploy/{program} --only {part}:\n{done.stdout}\n{done.stderr}")
