"""`%gpu` of cells: questions of kernels, and the answers.

A kernel asks on the channel on which it publishes, wherever it is, and is answered on its control
channel, which it reads while a cell runs. Both are for the user's own kernel and server alone.
"""

from __future__ import annotations

import asyncio
from typing import Any

from jupyter_client.session import Session

from dsportal.slurm.errors import PortalError
from portal.server.base.kernel_listener import KernelListener, Published
from portal.server.kernel_jobs.kernel_jobs import KernelJobs
from portal.server.kernel_jobs.request import parse_request
from portal.settings.kernel_jobs import KernelJobSettings

MESSAGE = "portal_gpus"


class Cells:
    """Hears what cells ask for, and answers."""

    def __init__(self, kernels: Any, jobs: KernelJobs, settings: KernelJobSettings) -> None:
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

    def _hear(self, message: Published) -> None:
        if message.kind != MESSAGE:
            return
        # A kernel repeats it until it is answered.
        question = message.content.get("question")
        if question is not None and self._questions.get(message.kernel_id) == question:
            return
        self._questions[message.kernel_id] = question
        task = asyncio.create_task(self._answer(message.kernel_id, message.content))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, kernel_id: str, asked: dict[str, Any]) -> None:
        if asked.get("cancel"):
            self._jobs.cancel(kernel_id)
            return
        kernel = self._kernels.get_kernel(kernel_id)
        # One of its own, whose messages have other ids than those of Jupyter.
        session = Session(config=kernel.session.config, key=kernel.session.key)
        stream = kernel.connect_control()

        def answer(text: str, end: str = "") -> None:
            session.send(stream, MESSAGE, {"text": text, "end": end})
            stream.flush()

        try:
            if not asked.get("gpus"):
                described = self._jobs.describe(kernel_id)
                answer(f"{described['words']} {described['reason']}".strip(), "told")
                return
            request = parse_request(asked["gpus"], asked.get("hours"), self._settings)
            # The cell ends before the kernel does.
            answer(
                await self._jobs.change(
                    kernel_id, request, answer, lambda words: answer(words, "moving")
                ),
                "told",
            )
        except PortalError as error:
            answer(str(error), "refused")
        finally:
            stream.close()
