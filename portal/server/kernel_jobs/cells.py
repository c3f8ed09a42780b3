"""`%gpu` of cells: questions of kernels, and the answers."""

import asyncio
from dataclasses import replace
from typing import Any

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from dsportal.slurm.errors import PortalError
from portal.server.base.kernel_listener import KernelListener, Published
from portal.server.kernel_jobs.kernel_jobs import CANCELLED, KernelJobs
from portal.server.kernel_jobs.request import parse_request
from portal.server.kernel_jobs.talk import MESSAGE, Talk
from portal.settings.kernel_jobs import KernelJobSettings


class Cells:
    """Hears what cells ask for, and answers."""

    def __init__(
        self, kernels: AsyncMappingKernelManager, jobs: KernelJobs, settings: KernelJobSettings
    ) -> None:
        self._kernels = kernels
        self._jobs = jobs
        self._settings = settings
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions: dict[str, str | None] = {}

    def listen(self, listener: KernelListener) -> None:
        """Hear all kernels from now on."""
        # An answer is no cell: the kernel stays as busy as it is.
        untracked = self._kernels.untracked_message_types
        self._kernels.untracked_message_types = [*untracked, MESSAGE]
        listener.on_message(self._hear)
        listener.on_end(self._end)

    def _hear(self, message: Published) -> None:
        talk = self._jobs.talks.get(message.kernel_id)
        if message.kind == "status" and talk is not None and message.parent_id == talk.cell:
            if message.content["execution_state"] == "idle":
                talk.end_of_cell()
            return
        if message.kind != MESSAGE:
            return
        content = message.content
        if "reply" in content:
            if talk is not None:
                talk.take(content["reply"])
            return
        # A kernel repeats it until it is answered.
        question = content.get("question")
        if question is not None and self._questions.get(message.kernel_id) == question:
            return
        self._questions[message.kernel_id] = question
        if content.get("held") and talk is not None:
            talk.take({})
            return
        task = asyncio.create_task(self._answer(message, content))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end(self, kernel_id: str) -> None:
        if kernel_id in self._jobs.talks:
            self._jobs.talks[kernel_id].end()

    async def _answer(self, message: Published, asked: dict[str, Any]) -> None:
        kernel_id = message.kernel_id
        if asked.get("cancel"):
            self._jobs.cancel(kernel_id)
            return
        talk = Talk(self._kernels.get_kernel(kernel_id), message.parent_id)
        try:
            if asked.get("held"):
                talk.tell("The request is cancelled.", "told")
                return
            if not asked.get("gpus"):
                described = self._jobs.describe(kernel_id)
                talk.tell(f"{described['words']} {described['reason']}".strip(), "told")
                return
            hours, variables = asked.get("hours"), asked.get("variables")
            request = parse_request(asked["gpus"], hours, self._settings, variables=variables)
            request = replace(request, body=str(asked.get("body") or ""))
            talk.tell(await self._jobs.change(kernel_id, request, talk), "told")
        except PortalError as error:
            talk.tell(str(error), "refused")
        # Else the cell would wait for ever.
        except Exception as error:
            talk.tell(f"The notebook server failed. {type(error).__name__}: {error}", "refused")
            raise
        except asyncio.CancelledError:
            talk.tell(CANCELLED, "told")
            raise
        finally:
            talk.close()
