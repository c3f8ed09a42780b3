"""Requests for GPUs from outside of cells: the button, and `dsportal gpu` in any kernel."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from dsportal.slurm.errors import PortalError
from portal.server.kernel_jobs.handover import write_json
from portal.server.kernel_jobs.kernel_jobs import KernelJobs
from portal.server.kernel_jobs.letters import take_questions
from portal.server.kernel_jobs.request import GpuRequest, parse_request
from portal.settings.kernel_jobs import KernelJobSettings

# In which Slurm refuses a job, or says why it waits.
_FIRST_WORDS_S = 5.0
_LOOK_S = 0.05


async def ask_for(jobs: KernelJobs, kernel_id: str, request: GpuRequest) -> dict[str, Any]:
    """Ask for other GPUs.

    Returns:
        The kernel's description, see `KernelJobs.describe`, which says how it goes on.

    Raises:
        PortalError: If it is refused before anything is known of a job.
    """
    task = asyncio.create_task(jobs.change(kernel_id, request))
    task.add_done_callback(_heard)
    await asyncio.sleep(0)
    # To give them back may have to wait for the end of the cell that asks.
    if request.n_gpus > 0:
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_WORDS_S):
                # Nobody is told of the first words.
                while not task.done() and not jobs.describe(kernel_id)["reason"]:  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_S)
    if task.done() and (error := task.exception()) is not None:
        raise error
    return jobs.describe(kernel_id)


class Letters:
    """Answers kernels in jobs of their own.

    Args:
        settings: The site's, with the hours of the user.
    """

    def __init__(self, jobs: KernelJobs, settings: KernelJobSettings) -> None:
        self._jobs = jobs
        self._settings = settings

    async def look(self, kernel_id: str, folder: Path) -> None:
        """Answer what a kernel has asked in the folder of its job."""
        with suppress(OSError, ValueError):
            asked = await asyncio.to_thread(take_questions, folder)
            for answer, question in asked.items():
                write_json(answer, await self._answer(kernel_id, question))

    async def _answer(self, kernel_id: str, question: dict[str, Any]) -> dict[str, object]:
        try:
            told = self._jobs.describe(kernel_id)
            if gpus := question.get("gpus"):
                request = parse_request(gpus, question.get("hours"), self._settings)
                told = await ask_for(self._jobs, kernel_id, request)
        except PortalError as error:
            return {"refusal": str(error)}
        return {"notebook": await self._jobs.notebook_name(kernel_id), **told}


def _heard(task: asyncio.Task[Any]) -> None:
    # The description has the words.
    if not task.cancelled() and not isinstance(task.exception(), PortalError | None):
        task.result()
