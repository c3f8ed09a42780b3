"""Takes GPUs back from kernels that do not use them, by the site's rules for idle sessions."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dsportal.amounts import SECONDS_PER_HOUR, format_duration
from dsportal.slurm.errors import PortalError
from portal.server.base.hub_api import HubError
from portal.server.base.idle import IdleState, IdleWatch, Observation
from portal.server.base.periodic import PeriodicCall
from portal.server.kernel_jobs.kernel_jobs import KernelJobs
from portal.server.kernel_jobs.known import NOTICE_S, Held
from portal.server.kernel_jobs.meter import Use
from portal.server.kernel_jobs.request import GpuRequest
from portal.settings.idle import IdleSettings

NOTHING = GpuRequest(n_gpus=0, walltime_s=0)


@dataclass
class _Watched:
    """The GPUs of one job.

    Attributes:
        n_samples: Of the last use that was looked at.
        is_used: Whether that was more than nothing.
    """

    watch: IdleWatch
    folder: Path
    notebook: str
    n_samples: int = 0
    is_used: bool = True
    state: IdleState = IdleState.USED
    task: asyncio.Task[None] | None = field(default=None)


class IdleGpus:
    """Follows the use of the GPUs of all kernels of a session.

    A kernel that computes keeps its GPUs, as it keeps a session. Input in a tab does not: whoever
    reads and writes needs no GPU.

    Args:
        policy: The site's for sessions.
        report: Tells the hub of a notebook whose GPUs did nothing for so many seconds.
        note_use: Notes the average use of a job's GPUs so far, 0 to 100; None is not known.
    """

    def __init__(
        self,
        jobs: KernelJobs,
        policy: IdleSettings,
        interval_s: float,
        log: logging.Logger,
        report: Callable[[str, float], Awaitable[None]],
        note_use: Callable[[int, float | None], None],
    ) -> None:
        self._jobs = jobs
        # Somebody has asked for them.
        self._policy = replace(policy, unopened_minutes=0.0)
        self._interval_s = interval_s
        self._log = log
        self._report = report
        self._note_use = note_use
        self._watched: dict[str, _Watched] = {}
        self._told: list[tuple[float, str]] = []
        self._looks: PeriodicCall | None = None

    def start(self) -> None:
        """Look now and then, unless the site measures no use."""
        if self._interval_s > 0:
            self._looks = PeriodicCall(lambda: self.look(time.monotonic()), self._interval_s)
            self._looks.start()

    async def stop(self) -> None:
        """Look no more."""
        if self._looks is not None:
            await self._looks.stop()

    def is_used(self) -> bool:
        """Return whether GPUs of a kernel compute, also without a running cell."""
        return any(watched.is_used for watched in self._watched.values())

    def notices(self) -> list[str]:
        """Return a warning for each kernel whose GPUs stand idle, and what became of others."""
        oldest_s = time.monotonic() - NOTICE_S
        self._told = [(told_s, words) for told_s, words in self._told if told_s > oldest_s]
        idle = format_duration(self._policy.after_s)
        left = format_duration(self._policy.warning_s)
        warnings = [
            f"The GPUs of {watched.notebook} have done nothing for {idle}. Run a cell within "
            f"{left} to keep them. Else the kernel goes on in the session, without them."
            for watched in self._watched.values()
            if watched.state is IdleState.WARNED
        ]
        return [*warnings, *(words for _, words in self._told)]

    async def list_held(self) -> list[dict[str, str]]:
        """Return `kernel`, `notebook`, `words` and `hours` of each kernel that has GPUs."""
        return [
            {
                "kernel": kernel_id,
                "notebook": await self._jobs.notebook_name(kernel_id),
                "words": self._jobs.describe(kernel_id)["words"],
                "hours": format_hours(one, await asyncio.to_thread(Use.read, one.job.folder)),
            }
            for kernel_id, one in self._jobs.held().items()
        ]

    async def look(self, now_s: float) -> None:
        """Look at all kernels once; `now_s` is the monotonic clock."""
        held = self._jobs.held()
        self._watched = {k: one for k, one in self._watched.items() if k in held}
        for kernel_id, one in held.items():
            watched = self._watched.get(kernel_id)
            if watched is None or watched.folder != one.job.folder:
                name = await self._jobs.notebook_name(kernel_id)
                watch = IdleWatch(self._policy, now_s, save_s=0.0)
                watched = _Watched(watch=watch, folder=one.job.folder, notebook=name)
                self._watched[kernel_id] = watched
            await self._look_at(kernel_id, watched, one.job.job_id or 0, now_s)

    async def _look_at(self, kernel_id: str, watched: _Watched, job_id: int, now_s: float) -> None:
        use = await asyncio.to_thread(Use.read, watched.folder)
        is_busy = self._jobs.is_busy(kernel_id)
        # What is not measured anew says nothing of now.
        is_known = use is not None and use.n_samples != watched.n_samples
        self._note_use(job_id, use.mean_gpu_percent if use is not None else None)
        if not is_known and not is_busy:
            return
        watched.n_samples = use.n_samples if use is not None else 0
        before = watched.state
        watched.state = watched.watch.look(
            Observation(
                now_s=now_s,
                gpu_percents=use.gpu_percents if use is not None else (),
                is_kernel_busy=is_busy,
                programs_percent=use.programs_percent if use is not None else None,
                input_s=-math.inf,
            )
        )
        watched.is_used = watched.watch.view().idle_s == 0
        if watched.state is not before:
            self._log.info("The GPUs of %s count as %s", watched.notebook, watched.state.value)
        if watched.state is IdleState.OVER and watched.task is None:
            watched.task = asyncio.create_task(self._give_back(kernel_id, watched))

    async def _give_back(self, kernel_id: str, watched: _Watched) -> None:
        idle_s = watched.watch.view().idle_s
        try:
            end = await self._jobs.change(kernel_id, NOTHING)
        except PortalError as error:
            self._log.warning("The idle GPUs of %s stay: %s", watched.notebook, error)
            return
        idle = format_duration(idle_s)
        words = f"The GPUs of {watched.notebook} had done nothing for {idle}. {end}"
        self._told.append((time.monotonic(), words))
        # The notebook says so in any case.
        with suppress(HubError):
            await self._report(watched.notebook, idle_s)


def format_hours(held: Held, use: Use | None) -> str:
    """Return such as "1.5 GPU hours held, 0.3 used"; without the second where it is not known."""
    hours = (time.monotonic() - held.since_s) * held.request.n_gpus / SECONDS_PER_HOUR
    used_gpu_s = None if use is None else use.used_gpu_s
    used = "" if used_gpu_s is None else f", {used_gpu_s / SECONDS_PER_HOUR:.1f} used"
    return f"{hours:.1f} GPU hours held{used}"
