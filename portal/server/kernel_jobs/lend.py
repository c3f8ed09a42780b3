"""One cell on GPUs: its kernel stays, and another one in a job runs it with the variables."""

import asyncio
import queue
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from jupyter_client.asynchronous.client import AsyncKernelClient

from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.folder import make_folder
from portal.server.kernel_jobs.provisioner import SlurmProvisioner
from portal.server.kernel_jobs.request import GpuRequest, Variables
from portal.server.kernel_jobs.talk import Talk
from portal.server.kernel_jobs.variables import (
    call_kernel,
    check_answer,
    nothing_saved,
    save_order,
    saved_in,
)
from portal.settings.kernel_jobs import KernelJobSettings

_LOOK_S = 1.0
_SHOWN = {"stream", "display_data", "update_display_data", "execute_result", "clear_output"}


async def run_there(
    job: SlurmProvisioner,
    request: GpuRequest,
    talk: Talk,
    settings: KernelJobSettings,
    tell: Callable[[str], None],
) -> str:
    """Run the body of a cell in the kernel of a job, with the variables there and back.

    Args:
        talk: With the cell, which shows what the body shows.
        tell: Takes how far it is.

    Returns:
        What has come back, in words. If the body has failed, the cell has its error by then.

    Raises:
        KernelJobError: If the variables cannot come along, or the job ends. Then those of the
            kernel are as they were.
    """
    saving = (
        nothing_saved(talk)
        if request.variables is Variables.NEVER
        else saved_in(nullcontext(talk), settings, tell)
    )
    async with saving as (saved, _):
        words = await saved.restore_in_job(job)
    tell(f"The cell runs with {request.words}. {words}")
    async with job.client(is_heard=True) as client:
        control = client.control_channel
        talk.interrupt = lambda: control.send(client.session.msg("interrupt_request"))
        try:
            traceback = await _run(client, request.body, talk, job)
        finally:
            talk.interrupt = None
        words = await _bring_back(client, talk, settings, job)
    if traceback is not None:
        talk.fail(traceback)
    return f"The GPUs are given back. {words}"


async def _run(
    client: AsyncKernelClient, body: str, talk: Talk, job: SlurmProvisioner
) -> list[str] | None:
    """Run code and show what it shows; return the traceback of its error, or None."""
    asked = client.execute(body, store_history=False, allow_stdin=False)
    traceback = None
    while True:
        try:
            message = await client.get_iopub_msg(timeout=_LOOK_S)
        except queue.Empty:
            if talk.is_over or await job.has_ended():
                status = await job.status()
                raise KernelJobError(
                    f"The kernel with the GPUs has ended. {status.words} The variables are as they "
                    "were before the cell."
                ) from None
            continue
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != asked:
            continue
        if kind in _SHOWN:
            talk.publish(kind, content)
        elif kind == "error":
            traceback = list(content["traceback"])
        elif kind == "status" and content["execution_state"] == "idle":
            return traceback


async def _bring_back(
    client: AsyncKernelClient, talk: Talk, settings: KernelJobSettings, job: SlurmProvisioner
) -> str:
    folder: Path = make_folder("variables")
    try:
        order = save_order(folder, settings)
        said = check_answer(await call_kernel(client, f"keep({order!r})", job.has_ended))
        if "why" in said:
            return str(said["why"])
        restored = check_answer(await talk.restore(str(folder)))
        lost = [*said["lost"], *restored["lost"]]
        return f"Not brought back: {'; '.join(lost)}." if lost else "The variables are back."
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
