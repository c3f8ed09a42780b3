"""The Slurm step of a run's ranks: `srun` inside a job."""

import os
import selectors
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dsportal.errors import StepError
from dsportal.launch.mpi import mpi_option
from dsportal.launch.outside import reach
from dsportal.slurm.listing import Squeue, new_nonce
from dsportal.task import exit_with_parent
from dsportal.task.environment import step_environment
from dsportal.task.interrupts import without_interrupts
from dsportal.task.plan import Plan

TERMINATE_WITHIN_S = 2.5
KILL_WITHIN_S = 1.5
PAUSE_S = 0.1
# Id and name of a step.
_STEPS = Squeue("ij")
_READ_BYTES = 64 * 1024
_SLURM_TIMEOUT_S = 1


def step_argv(
    plan: Plan, *, job_id: int, name: str, node: str, working_dir: Path, command: Sequence[str]
) -> list[str]:
    """Return the srun command that starts the ranks of a run.

    The step shares all of the job's cores, memory and GPUs with the notebook server instead of
    waiting for what the server holds, and one rank that fails ends all. No option names GPUs, so
    Slurm shows every rank all GPUs of the job on its node.

    Args:
        node: The session's node; empty if the step has all nodes of the job.

    Source:
        srun(1), Slurm 22.05.
    """
    ranks_per_node = plan.n_ranks // plan.n_nodes
    return [
        "srun",
        f"--jobid={job_id}",
        f"--job-name={name}",
        # The notebook server's own step holds cores and GPUs of the job.
        "--overlap",
        "--overcommit",
        f"--nodes={plan.n_nodes}",
        *([f"--nodelist={node}"] if node else []),
        f"--ntasks={plan.n_ranks}",
        f"--ntasks-per-node={ranks_per_node}",
        # Block: ranks 0 to N - 1 on the first node, so that neighbours of a ring share a node.
        "--distribution=block",
        f"--cpus-per-task={max(1, plan.cores_per_node // ranks_per_node)}",
        # The job's whole memory on each node, shared with its other steps.
        "--mem=0",
        # Ranks and notebook share the cores; bound, each would be stuck on its own few.
        "--cpu-bind=none",
        mpi_option(mpi=plan.mpi),
        "--export=ALL",
        # The notebook's standard input is the kernel's own.
        "--input=none",
        "--label",
        # The others would wait for ever for gradients of a rank that failed.
        "--kill-on-bad-exit=1",
        "--quiet",
        f"--chdir={working_dir}",
        *command,
    ]


def _tied_to_this_process() -> list[str]:
    return [sys.executable, "-I", "-S", exit_with_parent.__file__, str(os.getpid())]


class JobStep:
    """A running step.

    Args:
        environ: Environment of the notebook and what the ranks need in addition.
        name: Name of the step, by which `stop` finds it.
    """

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], name: str) -> None:
        self._environ = step_environment(environ)
        self._name = name
        self._rest = b""
        self._partial = b""
        self._unread: deque[bytes] = deque()
        try:
            # In a session of its own: the interrupt button signals the notebook's process group.
            self._srun = subprocess.Popen(
                [*_tied_to_this_process(), *reach(argv)],
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise StepError(f"Slurm's srun could not be started: {error}.") from error

    def lines(self, on_pause: Callable[[], object] = lambda: None) -> Iterator[bytes]:
        """Yield what the ranks and srun print, line by line with their ends, until all have ended.

        Args:
            on_pause: Called after a tenth of a second without output.
        """
        if self._srun.stdout is None:
            return
        descriptor = self._srun.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while True:
                while self._unread:
                    yield self._unread.popleft()
                if not selector.select(PAUSE_S):
                    on_pause()
                    # Without a limit: on_pause is called once for each pause.
                    selector.select()
                printed = os.read(descriptor, _READ_BYTES)
                if not printed:
                    break
                *whole, self._partial = (self._partial + printed).split(b"\n")
                self._unread.extend(line + b"\n" for line in whole)
        if self._partial:
            partial, self._partial = self._partial, b""
            yield partial

    def wait(self) -> int:
        """Wait for the end.

        Returns:
            srun's exit status: the highest of the ranks', or 128 and more after a signal.
        """
        return self._srun.wait()

    def warn(self) -> None:
        """Tell every rank that the time limit or a preemption is near.

        Source:
            srun(1), SIGNALS AND ESCAPE SEQUENCES, Slurm 22.05: SIGUSR1 is forwarded to all tasks.
        """
        self._srun.send_signal(signal.SIGUSR1)

    def tell_to_end(self) -> None:
        """Send every rank SIGTERM; `lines` yields what they print until they end."""
        self._srun.send_signal(signal.SIGTERM)

    def stop(self) -> bytes:
        """End all ranks: SIGTERM first, SIGKILL after 2.5 s.

        Returns:
            What was printed after the last line that `lines` yielded.

        Source:
            srun(1), SIGNALS AND ESCAPE SEQUENCES, Slurm 22.05.
        """
        with without_interrupts():
            self._srun.send_signal(signal.SIGTERM)
            if not self._ended_within(TERMINATE_WITHIN_S):
                # srun did not pass the signal on in time, so Slurm kills the step itself.
                for step_id in self._step_ids():
                    self._slurm("scancel", "--signal=KILL", step_id)
                if not self._ended_within(KILL_WITHIN_S):
                    # It did not end although its step is dead, for example because slurmctld is
                    # away.
                    self._srun.kill()
                    self._ended_within(KILL_WITHIN_S)
        return b"".join(self._unread) + self._partial + self._rest

    def _ended_within(self, timeout_s: float) -> bool:
        # Also reads the output: srun does not end while its pipe is full.
        with suppress(subprocess.TimeoutExpired):
            self._rest, _ = self._srun.communicate(timeout=timeout_s)
            return True
        return False

    def _step_ids(self) -> list[str]:
        job_id = self._environ.get("SLURM_JOB_ID") or self._environ["SLURM_JOBID"]
        nonce = new_nonce()
        listing = self._slurm("squeue", *_STEPS.options(nonce), "--steps", f"--jobs={job_id}")
        rows = _STEPS.rows(listing, nonce)
        return [step_id for step_id, name in rows if name == self._name]

    def _slurm(self, *argv: str) -> str:
        with suppress(OSError, subprocess.SubprocessError):
            return subprocess.run(
                reach(argv),
                env=self._environ,
                capture_output=True,
                text=True,
                timeout=_SLURM_TIMEOUT_S,
                check=False,
            ).stdout
        return ""
