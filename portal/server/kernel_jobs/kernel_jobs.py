"""The kernels of a session that have GPUs in jobs of their own."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_server.serverapp import ServerApp

from dsportal.amounts import count
from dsportal.slurm.errors import PortalError
from dsportal.slurm.states import Phase
from portal.server.base.open_notebooks import notebook_of
from portal.server.kernel_jobs.coming_along import Cell, end_cell, saved_of
from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.handover import Progress
from portal.server.kernel_jobs.known import NOTICE_S, Held, KnownKernel, describe
from portal.server.kernel_jobs.lend import run_there
from portal.server.kernel_jobs.move import Home, local_provisioner, move
from portal.server.kernel_jobs.preference import settle
from portal.server.kernel_jobs.request import GpuRequest, Variables
from portal.server.kernel_jobs.starts import JobStarts
from portal.server.kernel_jobs.talk import Talk
from portal.server.kernel_jobs.variables import Saved
from portal.settings.kernel_jobs import KernelJobSettings

# So often the folder of a job is looked at, and Slurm is asked.
_LOOK_S = 2.0
_ASK_S = 15.0
# So long a server that ends waits for what its kernels wait for.
_STOP_S = 5.0
CANCELLED = "The request is cancelled. The kernel goes on as it is."

Tell = Callable[[str], None]


class KernelJobs:
    """Gives GPUs to kernels, and takes them back.

    Args:
        read_preference: Returns the user's setting of whether variables come along.
    """

    def __init__(
        self,
        server: ServerApp,
        settings: KernelJobSettings,
        starts: JobStarts,
        read_preference: Callable[[], Variables] = lambda: Variables.ALWAYS,
    ) -> None:
        self.kernels = server.kernel_manager
        self._sessions = server.session_manager
        self._settings = settings
        self._starts = starts
        self._read_preference = read_preference
        self._known: dict[str, KnownKernel] = {}
        self.talks: dict[str, Talk] = {}
        # Called now and then with each kernel that has a job, and the folder of that.
        self.look_for_questions: Callable[[str, Path], Awaitable[None]] | None = None
        self._n_gpus = int(os.environ.get("PORTAL_N_GPUS") or 0)
        self._gpu = "simulated GPU" if os.environ.get("PORTAL_GPUS_SIMULATED") == "1" else "GPU"

    def describe(self, kernel_id: str) -> dict[str, Any]:
        """Return what a page shows of a kernel; see `known.describe`, and `session_gpus`."""
        own = f"{count(self._n_gpus, self._gpu)} of the session" if self._n_gpus else "no GPU"
        known = self._known.get(kernel_id)
        return {**describe(known, own, self._gpu), "session_gpus": self._n_gpus}

    async def choices(self, settings: KernelJobSettings) -> dict[str, Any]:
        """Return what the dialog offers, see `list_choices`, and the user's `variables`."""
        choices = await self._starts.choices(settings)
        return {**choices, "variables": await asyncio.to_thread(self._read_preference)}

    async def forecast(self, kernel_id: str, request: GpuRequest) -> str:
        """Return when a kernel would have other GPUs, in words; raises as `change`."""
        if request.n_gpus == 0:
            return ""
        return await self._starts.forecast(request, self._n_held(kernel_id))

    def held(self) -> dict[str, Held]:
        """Return the GPUs of each kernel that has a job, by the kernel's id."""
        known = [(key, one) for key, one in self._known.items() if key in self.kernels]
        return {key: one.held for key, one in known if one.held is not None}

    def is_busy(self, kernel_id: str) -> bool:
        """Return whether a kernel runs a cell, or waits for other GPUs."""
        is_asked = self._known[kernel_id].task is not None
        return is_asked or self.kernels.get_kernel(kernel_id).execution_state != "idle"

    async def notebook_name(self, kernel_id: str) -> str:
        """Return the name of a kernel's notebook, or "a kernel"."""
        return PurePosixPath(await notebook_of(self._sessions, kernel_id)).name or "a kernel"

    def notices(self) -> list[str]:
        """Return a sentence for each kernel whose job has ended lately."""
        oldest_s = time.monotonic() - NOTICE_S
        known = self._known.values()
        return [one.words for one in known if one.told_s is not None and one.told_s > oldest_s]

    async def change(self, kernel_id: str, request: GpuRequest, talk: Talk | None = None) -> str:
        """Give a kernel other GPUs, and return what has become of it.

        Args:
            request: With 0 GPUs it goes on without any.
            talk: With the cell that asks, if one does. It ends before the kernel moves.

        Raises:
            PortalError: If it cannot have them; then it goes on as it is.
        """
        kernel = self.kernels.get_kernel(kernel_id)
        known = self._known.setdefault(kernel_id, KnownKernel(home=Home.of(kernel)))
        if known.task is not None:
            if request.n_gpus == 0:
                self.cancel(kernel_id)
                return CANCELLED
            raise KernelJobError(
                f"This kernel waits for {known.asked.words if known.asked else 'GPUs'} already. "
                "Cancel that first: %gpu 0"
            )
        if request.n_gpus == 0 and known.held is None:
            return "This kernel has no job of its own, so there is nothing to give back."
        if talk is not None:
            self.talks[kernel_id] = talk
        known.asked = request
        known.task = asyncio.current_task()
        known.told_s, known.words = None, ""

        def note(words: str) -> None:
            if words != known.words:
                known.words = words
                if talk is not None:
                    talk.tell(words)

        try:
            request = await settle(request, talk, self._read_preference)
            if request.n_gpus == 0:
                return await self._take_back(kernel_id, known, request, note, talk)
            if request.body and talk is not None:
                return await self._lend(kernel_id, known, request, note, talk)
            return await self._give(kernel_id, known, request, note, talk)
        except PortalError as error:
            known.words = str(error)
            raise
        finally:
            known.asked = known.task = None
            if known.is_moving:
                known.is_moving, known.moved_s = False, time.monotonic()
            self.talks.pop(kernel_id, None)

    def cancel(self, kernel_id: str) -> None:
        """Cancel what a kernel waits for."""
        known = self._known.get(kernel_id)
        talk = self.talks.get(kernel_id)
        if talk is not None and talk.interrupt is not None:
            talk.interrupt()
        elif known is not None and known.task is not None and not known.is_moving:
            known.words = ""
            known.task.cancel()

    async def stop(self) -> None:
        """End all jobs, and what kernels wait for."""
        known = self._known.values()
        tasks = [task for one in known for task in (one.task, one.watch) if task is not None]
        for task in tasks:
            task.cancel()
        # Else what they have in the user's home would stay there.
        if tasks:
            await asyncio.wait(tasks, timeout=_STOP_S)
        held = [one.held for one in known if one.held is not None]
        await asyncio.gather(*(one.job.cleanup(restart=False) for one in held))

    async def _give(
        self, kernel_id: str, known: KnownKernel, request: GpuRequest, tell: Tell, talk: Talk | None
    ) -> str:
        kernel = self.kernels.get_kernel(kernel_id)
        job = self._starts.new_job(kernel)
        try:
            await self._starts.start(job, request, self._n_held(kernel_id), tell)
            async with self._saved(kernel, request, tell, talk) as (saved, cell):
                tell("The variables are being restored.")
                words = await saved.restore_in_job(job)
                known.is_moving = True
                await end_cell(kernel, cell, f"with {request.words}. {words}", tell)
                await move(self.kernels, kernel_id, job)
        except BaseException:
            if kernel.provisioner is not job:
                await job.cleanup(restart=False)
            raise
        status = await job.status()
        known.held = Held(job=job, request=request)
        notebook = await self.notebook_name(kernel_id)
        known.tell_all(f"The kernel of {notebook} has its GPUs.", saved.notice)
        known.held.note_left(status.left_s)
        if known.watch is not None:
            known.watch.cancel()
        known.watch = asyncio.create_task(self._watch(kernel_id, known, known.held))
        return f"The kernel runs on {status.node or 'its node'} with {request.words}."

    async def _lend(
        self, kernel_id: str, known: KnownKernel, request: GpuRequest, tell: Tell, talk: Talk
    ) -> str:
        """Run a cell in a job, while the kernel waits where it is."""
        if known.held is not None:
            raise KernelJobError(
                "This kernel has GPUs already. Run the cell as it is, or give them back: %gpu 0"
            )
        job = self._starts.new_job(self.kernels.get_kernel(kernel_id))
        try:
            await self._starts.start(job, request, self._n_held(kernel_id), tell)
            known.held = Held(job=job, request=request)
            words = await run_there(job, request, talk, self._settings, tell)
            return f"{words} {await known.used()}".strip()
        finally:
            known.held = None
            await job.cleanup(restart=False)

    def _n_held(self, kernel_id: str) -> int:
        """Return the GPUs of the session and of its other kernels."""
        others = [one for other, one in self._known.items() if other != kernel_id]
        return self._n_gpus + sum(one.n_gpus for one in others)

    async def _take_back(
        self, kernel_id: str, known: KnownKernel, request: GpuRequest, tell: Tell, talk: Talk | None
    ) -> str:
        kernel = self.kernels.get_kernel(kernel_id)
        used = await known.used()
        async with self._saved(kernel, request, tell, talk) as (saved, cell):
            known.is_moving = True
            await end_cell(kernel, cell, f"in the session. {saved.words} {used}", tell)
            lost = await self._bring_home(kernel_id, known, saved)
        lost = f"{saved.notice} {lost}".strip()
        notebook = await self.notebook_name(kernel_id)
        known.tell_all(f"The GPUs of {notebook} are given back.", lost)
        return f"The GPUs are given back. The kernel runs in the session. {lost} {used}".strip()

    async def _bring_home(
        self, kernel_id: str, known: KnownKernel, saved: Saved | None = None
    ) -> str:
        """Let the kernel go on here, and return why its variables are lost, or ""."""
        kernel, lost = self.kernels.get_kernel(kernel_id), [""]

        async def prepare(kernel: AsyncKernelManager) -> None:
            if saved is not None:
                lost.append(await saved.restore_here(kernel))

        await move(self.kernels, kernel_id, local_provisioner(kernel), known.home, prepare)
        known.held = None
        if known.watch is not None and known.watch is not asyncio.current_task():
            known.watch.cancel()
        return lost[-1]

    def _saved(
        self, kernel: AsyncKernelManager, request: GpuRequest, tell: Tell, talk: Talk | None
    ) -> AbstractAsyncContextManager[tuple[Saved, Cell | None]]:
        return saved_of(kernel, request.variables, self._settings, tell, talk, self.talks)

    async def _watch(self, kernel_id: str, known: KnownKernel, held: Held) -> None:
        """Bring the kernel home when its job has ended."""
        job = held.job
        asked_s = time.monotonic()
        while kernel_id in self.kernels and job.job_id is not None:
            await asyncio.sleep(_LOOK_S)
            is_ending = False
            with suppress(OSError):
                is_ending = (await asyncio.to_thread(Progress.read, job.folder)).is_over
            if self.look_for_questions is not None:
                await self.look_for_questions(kernel_id, job.folder)
            if not is_ending and time.monotonic() < asked_s + _ASK_S:
                continue
            asked_s = time.monotonic()
            if job.job_id is None:
                return
            status = await job.status()
            held.note_left(status.left_s)
            if status.phase is Phase.OVER:
                job.is_over, used = True, await known.used()
                await self._bring_home(kernel_id, known)
                notebook = await self.notebook_name(kernel_id)
                lost = "The kernel runs in the session again, and its variables are lost."
                known.tell_all(f"The GPUs of {notebook} are gone. {status.words}", f"{lost} {used}")
                return
        await job.cleanup(restart=False)

    async def end_job_of(self, kernel_id: str) -> None:
        """End the job of a kernel that is not restarted any more."""
        known = self._known.pop(kernel_id, None)
        if known is not None and known.held is not None:
            await known.held.job.cleanup(restart=False)
