"""Handle of a run in the notebook: state, progress, output, result, and how to stop it."""

import time
from collections.abc import Callable
from typing import Any, Literal

from dsportal.errors import LaunchError, StepError, hide_frames
from dsportal.launch import commands
from dsportal.launch.messages import explain_end, explain_going_on, explain_waiting
from dsportal.launch.used import read_used
from dsportal.live_output import LiveOutput
from dsportal.notebook.failure import explain_failure
from dsportal.notebook.output import LogTail
from dsportal.notebook.progress_bar import draw_end, draw_pace
from dsportal.task.folder import RunFolder
from dsportal.task.interrupts import is_kernel_ending, without_interrupts
from dsportal.task.throughput import Throughput

POLL_S = 0.15
ASK_SLURM_EVERY_S = 1.0
END_WITHIN_S = 4.0
KILL_WITHIN_S = 1.0
# A file written on another node may become visible here this much later (NFS).
FILES_LATE_S = 8.0
STOPPED = "Stopped: the run has ended.\n"


class Run:
    """A run that was started; it continues without this object.

    Args:
        job_id: Its own Slurm job, or None if it is a step of a session.
    """

    def __init__(
        self, folder: RunFolder, job_id: int | None, show: Callable[[str], object]
    ) -> None:
        self.folder = folder
        self.job_id = job_id
        self._show = show

    @property
    def id(self) -> str:
        """Name of the run, for `attach`."""
        return self.folder.name

    @property
    def state(self) -> str:
        """One of waiting, running, done, failed, stopped, saved, lost; unknown without Slurm."""
        end = self.folder.read_end()
        if end is not None:
            return end.word
        if self.folder.elsewhere:
            return "unknown"
        if self.job_id is None:
            # A step of a session has no job of its own; its name is that of the run.
            names = commands.step_names()
            return "unknown" if names is None else "running" if self.id in names else "lost"
        job = commands.job_state(self.job_id)
        if job.is_waiting:
            return "waiting"
        if job.is_over:
            end = self.folder.read_end()
            # Read again: it may have been written since the first look.
            return end.word if end is not None else "lost"
        return "unknown" if job.state == "UNKNOWN" else "running"

    def __repr__(self) -> str:
        job = f", job {self.job_id}" if self.job_id is not None else ""
        return f"<Run {self.id}: {self.state}{job}>"

    @property
    def progress(self) -> Throughput | None:
        """Step, images/s, loss and lag of the ranks; None if the function reports none."""
        return self.folder.read_throughput()

    @property
    def used(self) -> str:
        """What the run used of its cores, memory and GPUs, in words, some seconds after its end.

        It is empty if Slurm has measured nothing.
        """
        if self.folder.elsewhere:
            return ""
        return read_used(self.job_id, step_name="" if self.job_id else self.id)

    def output(self, rank: int = 0) -> str:
        """Return everything that a rank has printed so far.

        Returns:
            The text; empty before it has printed anything.

        Raises:
            LaunchError: If the run has no such rank.
        """
        n_ranks = self.folder.read_plan().n_ranks
        if not 0 <= rank < n_ranks:
            raise LaunchError(
                f"You asked for rank {rank}, but the run has ranks 0 to {n_ranks - 1}."
            )
        try:
            return self.folder.log_path(rank).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def wait(self, show: Literal["first", "all", "none"] = "first") -> Any:
        """Show what the run prints until it ends, and return its result.

        The interrupt button ends the run. A run with a job of its own continues when the notebook
        is closed, or when its kernel or its session ends.

        Args:
            show: "first" shows rank 0, "all" every rank with its number, "none" nothing.

        Returns:
            What the function returned: on rank 0, or a list if the run was started with
            results="all"; None for a script, and for a run that saved a checkpoint.

        Raises:
            BaseException: The interrupt, after all ranks have ended.
        """
        try:
            self._follow(show)
        except BaseException as error:
            if self.job_id is not None and not is_kernel_ending():
                self.stop()
            hide_frames(error)
            raise
        return self.result()

    def result(self) -> Any:
        """Return what the function returned, without waiting.

        Returns:
            As for `wait`.

        Raises:
            LaunchError: If the run has not ended yet.
            StepError: If Slurm ended the run.
            error: The RankError or StepError that explains why a rank failed.
        """
        end = self.folder.read_end()
        if end is None:
            job = self._job()
            if job is not None and job.is_over:
                raise StepError(f"{explain_end(job.state, job.nodes)} {self._log_hint()}")
            raise LaunchError(f"The run {self.id} is {self.state}; wait() waits for its end.")
        plan = self.folder.read_plan()
        if end.is_saved:
            self._show("A checkpoint was saved. run(..., resume=True) continues from it.\n")
            return None
        if end.was_stopped:
            raise StepError(f"{explain_end(self._last_state())} {self._log_hint()}")
        if end.status != 0:
            error = explain_failure(self.folder, end, plan.n_ranks)
            raise error
        if not plan.n_results:
            return None
        values = [self.folder.read_result(rank) for rank in range(plan.n_results)]
        return values if plan.returns_list else values[0]

    def stop(self) -> None:
        """End every rank: SIGTERM first, SIGKILL after that, within 5 s.

        Raises:
            LaunchError: If the run belongs to a cell of a session, which has to be interrupted, or
                is on another cluster.
        """
        if self.folder.read_end() is not None:
            return
        if cluster := self.folder.elsewhere:
            raise LaunchError(
                f"The run {self.id} is on the cluster {cluster}. Stop it in a session there."
            )
        if self.job_id is None:
            raise LaunchError(
                f"The run {self.id} is part of a session. Interrupt the cell that started it."
            )
        # A second interrupt must not leave ranks behind.
        with without_interrupts():
            commands.cancel(self.job_id)
            is_over = self._is_over_within(END_WITHIN_S)
            if not is_over:
                commands.cancel(self.job_id, kill=True)
                is_over = self._is_over_within(KILL_WITHIN_S)
        self._show(STOPPED if is_over else f"{explain_going_on(self.job_id)}\n")

    def _job(self) -> commands.JobState | None:
        """Return what Slurm says of its own job; None if it has none on this cluster."""
        if self.job_id is None or self.folder.elsewhere:
            return None
        return commands.job_state(self.job_id)

    def _last_state(self) -> str:
        # Slurm reports the final state, such as TIMEOUT, only after it has cleaned up.
        give_up_at = time.monotonic() + FILES_LATE_S
        while (job := self._job()) is not None and time.monotonic() < give_up_at:
            if job.is_over:
                return job.state
            time.sleep(ASK_SLURM_EVERY_S / 2)
        return "CANCELLED"

    def _is_over_within(self, timeout_s: float) -> bool:
        give_up_at = time.monotonic() + timeout_s
        while time.monotonic() < give_up_at:
            if self.folder.read_end() is not None or self._job_is_over():
                return True
            time.sleep(POLL_S)
        return False

    def _job_is_over(self) -> bool:
        job = self._job()
        return job is not None and job.is_over

    def _follow(self, show: Literal["first", "all", "none"]) -> None:
        plan = self.folder.read_plan()
        shown = range({"first": 1, "all": plan.n_ranks, "none": 0}[show])
        # From files, not from srun: the ranks may run in another job, and the cell may attach late.
        tail = LogTail([self.folder.log_path(rank) for rank in shown], self._show)
        bar = LiveOutput(self._show)
        said, asked_at, over_since = "", 0.0, 0.0
        while self.folder.read_end() is None:
            tail.read()
            now = time.monotonic()
            if now - asked_at >= ASK_SLURM_EVERY_S:
                asked_at = now
                if (pace := self.progress) is not None:
                    draw_pace(bar, pace)
                said, is_over = self._report(said)
                # The job may be over before its last files are visible here.
                over_since = (over_since or now) if is_over else 0.0
                if is_over and now - over_since >= FILES_LATE_S:
                    break
            time.sleep(POLL_S)
        tail.read(is_end=True)
        draw_end(bar, self.progress, self.folder.read_end())

    def _report(self, said: str) -> tuple[str, bool]:
        # Shows news of the job; returns the last news and whether the job is over.
        job = self._job()
        if job is None:
            return said, self.state == "lost"
        if job.is_waiting:
            n_gpus = self.folder.read_plan().n_ranks
            text = explain_waiting(job.reason, job.state, n_gpus)
        elif job.state == "RUNNING":
            text = f"Running on {job.nodes}."
        else:
            text = said
        if text != said:
            self._show(f"{text}\n")
        return text, job.is_over

    def _log_hint(self) -> str:
        return f"Logs: {self.folder.path}"
