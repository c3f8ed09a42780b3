"""What the job of a kernel runs: the kernel, again after each end of it, until the session ends.

    python -m portal.server.kernel_jobs.job FOLDER

FOLDER has what the notebook server has written for it, `Order`, and takes what it is to know,
`Progress`. SIGINT interrupts the kernel, SIGUSR2 ends it, SIGTERM ends the job.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from dsportal.slurm.listing import NO_SUCH_JOB
from dsportal.slurm.states import Phase, parse_state
from portal.server.kernel_jobs.handover import CONNECTION, ORDER, Order, Progress, write_json

CHANNELS = ("shell", "stdin", "control", "hb", "iopub")
METER = (sys.executable, "-P", "-m", "portal.server.kernel_jobs.meter")
DOOR = (sys.executable, "-P", "-m", "portal.server.kernel_jobs.door")
# So often Slurm is asked whether the session still runs.
ASK_S = 30.0
_ANSWER_S = 15
# Slurm's signals at a time limit come to kernel and job at almost the same time.
_OWN_END_S = 0.5
# A kernel that lives shorter has not started.
_SHORTEST_S = 5.0
_MOST_FAILURES = 3
_END_S = 3.0
# Of what starts a container: folders of the session are missing on other nodes.
_BIND = "--bind="
_SIGNALS = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGUSR2}


class Job:
    """A kernel that is started again and again."""

    def __init__(self, folder: Path, order: Order) -> None:
        self._folder = folder
        self._order = order
        self._progress = Progress(node=os.environ.get("SLURMD_NODENAME", ""))
        self._kernel: subprocess.Popen[bytes] | None = None
        # What runs beside it until the job ends.
        self._others: list[subprocess.Popen[bytes]] = []
        self._is_measured = False
        self._n_absent = 0
        self._n_killed = 0

    def run(self) -> int:
        """Run until the session or the job ends.

        Returns:
            0, or 1 if the kernel does not start.
        """
        n_failures = 0
        sockets = ""
        if self._order.has_door:
            # The path of a socket has to be short.
            sockets = tempfile.mkdtemp(prefix="dsportal-kernel-", dir="/tmp")
        try:
            if sockets:
                self._make_door(Path(sockets))
            while n_failures < _MOST_FAILURES:
                began_s = time.monotonic()
                if not self._run_kernel():
                    return 0
                n_failures = n_failures + 1 if time.monotonic() - began_s < _SHORTEST_S else 0
            return 1
        finally:
            self._end_kernel()
            for other in self._others:
                other.kill()
                other.wait()
            if sockets:
                shutil.rmtree(sockets, ignore_errors=True)
            if (self._folder / ORDER).exists():
                self._tell(is_over=True)
            else:
                # What was written meanwhile has kept the notebook server from removing all of it.
                shutil.rmtree(self._folder, ignore_errors=True)

    def _make_door(self, sockets: Path) -> None:
        outside, inside = self._folder / CONNECTION, sockets / CONNECTION
        info = json.loads(outside.read_text("utf-8"))
        kept = {name: info[name] for name in ("key", "signature_scheme")}
        numbers = {f"{name}_port": number for number, name in enumerate(CHANNELS, 1)}
        write_json(inside, {**kept, **numbers, "transport": "ipc", "ip": str(sockets / "k")})
        argv = [
            word.replace(str(outside), str(inside)) for word in self._order.argv if _is_here(word)
        ]
        if binds := [number for number, word in enumerate(argv) if word.startswith(_BIND)]:
            argv.insert(binds[0], f"{_BIND}{sockets}")
        self._order = replace(self._order, argv=argv)
        self._others.append(_start([*DOOR, str(self._folder), str(sockets)], env=os.environ))

    def _run_kernel(self) -> bool:
        """Run one kernel to its end; return whether another one is wanted."""
        order = self._order
        self._kernel = _start(
            order.argv,
            env={**_of_the_job(os.environ), **order.environ},
            cwd=order.working_dir if os.path.isdir(order.working_dir) else None,
        )
        self._tell(n_starts=self._progress.n_starts + 1)
        look_at_s = time.monotonic() + _SHORTEST_S
        while self._kernel.poll() is None:
            got = signal.sigtimedwait(_SIGNALS, max(0.0, look_at_s - time.monotonic()))
            if got is not None and got.si_signo == signal.SIGTERM:
                return False
            if got is not None and got.si_signo == signal.SIGUSR2:
                self._end_kernel()
            if got is not None and got.si_signo == signal.SIGINT:
                with suppress(ProcessLookupError):
                    os.killpg(self._kernel.pid, signal.SIGINT)
            if time.monotonic() >= look_at_s:
                look_at_s = time.monotonic() + ASK_S
                if self._is_unwanted():
                    return False
                # Not before: what measures a kernel shall not slow down its start.
                if not self._is_measured:
                    self._is_measured = True
                    self._others.append(_start([*METER, str(self._folder)], env=os.environ))
        if signal.sigtimedwait({signal.SIGTERM}, _OWN_END_S) is not None:
            return False
        n_killed, self._n_killed = self._n_killed, _count_killed()
        self._tell(
            n_ends=self._progress.n_starts,
            status=self._kernel.returncode,
            is_out_of_memory=self._n_killed > n_killed,
        )
        return True

    def _is_unwanted(self) -> bool:
        # The notebook server removes it, also where Slurm does not cancel the job.
        if not (self._folder / ORDER).exists():
            return True
        # Twice: one answer of a Slurm that has just started may lack a job.
        self._n_absent = self._n_absent + 1 if _is_over(self._order.session_job_id) else 0
        return self._n_absent > 1

    def _end_kernel(self) -> None:
        if self._kernel is None or self._kernel.poll() is not None:
            return
        self._kernel.terminate()
        try:
            self._kernel.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._kernel.kill()
            self._kernel.wait()

    def _tell(self, **changes: int) -> None:
        self._progress = Progress(**{**asdict(self._progress), **changes})
        with suppress(FileNotFoundError):
            self._progress.write(self._folder)


def _start(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        # There are no threads.
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, ()),
        start_new_session=True,
    )


def _count_killed() -> int:
    """Return how many processes of the job Linux has killed for want of memory."""
    # Not at the start, which it would slow down.
    from portal.server.base.cgroup import find_source

    try:
        return find_source(os.environ).n_killed_for_memory()
    except (OSError, ValueError):
        return 0


def _is_here(word: str) -> bool:
    """Return whether a word of a command mounts no folder into an image that this node lacks."""
    return not word.startswith(_BIND) or os.path.exists(word.removeprefix(_BIND).split(":")[0])


def _is_over(job_id: str) -> bool:
    """Return whether Slurm says that a job has ended; False if it does not answer."""
    try:
        done = subprocess.run(
            ["squeue", "--noheader", "--format=%T", f"--jobs={job_id}", "--states=all"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    if done.returncode != 0:
        return NO_SUCH_JOB in done.stderr
    words = done.stdout.split()
    return not words or parse_state(words[0]).phase is Phase.OVER


def _of_the_job(environ: Mapping[str, str]) -> dict[str, str]:
    # That of sbatch itself, which the notebook server ran in English.
    return {name: value for name, value in environ.items() if name not in {"LC_ALL", "PATH"}}


def main() -> int:
    """Run the job of a folder.

    Returns:
        Its exit status.
    """
    # Taken one by one with sigtimedwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    folder = Path(sys.argv[1])
    return Job(folder, Order.read(folder)).run()


if __name__ == "__main__":
    sys.exit(main())
