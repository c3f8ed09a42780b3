"""The variables of a kernel that moves: its old process saves them, and the new one restores them.

The files are in a folder of the user's home, which only the user may enter and both nodes see, and
go with the move, however it ends.
"""

from __future__ import annotations

import ast
import asyncio
import json
import queue
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

from dsportal.amounts import count
from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.folder import make_folder
from portal.server.kernel_jobs.provisioner import SlurmProvisioner
from portal.server.kernel_jobs.talk import Talk, own_session
from portal.settings.kernel_jobs import KernelJobSettings

STAY_BEHIND = "Its variables stay behind: run the cells that it needs again."
_SMALLER = (
    "The kernel goes on as it is. Delete what you do not need with del, or leave all variables "
    "behind with --variables never."
)
_LOOK_S = 1.0
_READY_TIMEOUT_S = 60
_GB = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What the old process has saved.

    Attributes:
        n_variables: 0 if there is nothing to restore.
        why: Why nothing comes along, or "".
        is_told: Whether the user has seen in a cell what is lost.
        notice: What all tabs are to say, as no cell does; "" for nothing.
    """

    folder: Path
    n_variables: int = 0
    n_bytes: int = 0
    lost: tuple[str, ...] = ()
    why: str = ""
    is_told: bool = True
    notice: str = ""

    @classmethod
    def of(cls, folder: Path, said: dict[str, Any], *, is_told: bool = True) -> Saved:
        """Return what a kernel says that it has saved, `said`, in a folder."""
        return cls(
            folder=folder,
            n_variables=said.get("saved", 0),
            n_bytes=said.get("bytes", 0),
            lost=tuple(said.get("lost", ())),
            why=said.get("why", ""),
            is_told=is_told,
        )

    @property
    def words(self) -> str:
        """What comes along, and what does not."""
        if self.why:
            return self.why
        come = "come" if self.n_variables != 1 else "comes"
        size = f"{self.n_bytes / _GB:.1f} GB" if self.n_bytes >= _GB / 10 else ""
        words = f"{count(self.n_variables, 'variable')} {come} along{size and f', {size}'}."
        return f"{words} {self._lost_words}".strip()

    @property
    def _lost_words(self) -> str:
        return f"Not restored: {'; '.join(self.lost)}." if self.lost else ""

    async def restore_in_job(self, job: SlurmProvisioner) -> str:
        """Restore them in the kernel of a job, while the old process still has them.

        Returns:
            What has come along, and what has not, in words.
        """
        if self.why:
            return self.why
        async with job.client() as client:
            told = None if self.is_told else self._lost_words
            try:
                report = await self._restore(client, told, job.has_ended)
            except KernelJobError as error:
                raise KernelJobError(f"{error} {_SMALLER}") from error
        lost = (*self.lost, *report["lost"])
        n_restored = self.n_variables - len(report["lost"])
        return Saved(
            folder=self.folder, n_variables=n_restored, n_bytes=self.n_bytes, lost=lost
        ).words

    async def restore_here(self, kernel: AsyncKernelManager) -> str:
        """Restore them in a kernel of this node; it says before its next cell what is missing.

        Returns:
            Why all of them are lost, in words, or "".
        """
        if self.why:
            return ""
        first = kernel.provisioner.pid

        async def has_ended() -> bool:
            # Jupyter starts another one.
            return not await kernel.is_alive() or kernel.provisioner.pid != first

        client = kernel.client(session=own_session(kernel))
        client.start_channels(iopub=False, stdin=False, hb=False)
        try:
            await client.kernel_info(reply=True, timeout=_READY_TIMEOUT_S)
            await self._restore(client, "" if self.is_told else self._lost_words, has_ended)
        except KernelJobError as error:
            return f"Its variables are lost. {error}"
        except TimeoutError:
            return f"Its variables are lost. The kernel did not answer within {_READY_TIMEOUT_S} s."
        finally:
            client.stop_channels()
        return ""

    async def _restore(
        self, client: AsyncKernelClient, told: str | None, has_ended: Callable[[], Awaitable[bool]]
    ) -> dict[str, Any]:
        call = f"restore({str(self.folder)!r}, {told!r})"
        return await call_kernel(client, call, has_ended)


async def call_kernel(
    client: AsyncKernelClient, call: str, has_ended: Callable[[], Awaitable[bool]]
) -> dict[str, Any]:
    """Call a method of a kernel's `GpuMagic` that leaves a report.

    Returns:
        That report, of `variables.save` or `variables.restore`.
    """
    content = await ask_kernel(
        client,
        f"get_ipython().portal_gpus.{call}",
        has_ended,
        silent=True,
        user_expressions={"report": "get_ipython().portal_gpus.report"},
    )
    text = content["user_expressions"]["report"]["data"]["text/plain"]
    return dict(json.loads(ast.literal_eval(text)))


async def ask_kernel(
    client: AsyncKernelClient, code: str, has_ended: Callable[[], Awaitable[bool]], **options: Any
) -> dict[str, Any]:
    """Return the content of a kernel's reply to code that is none of its cells.

    Args:
        code: In the kernel's language.
        options: Of the client's `execute`.
    """
    asked = client.execute(code, store_history=False, allow_stdin=False, **options)
    while True:
        try:
            reply = await client.get_shell_msg(timeout=_LOOK_S)
        except queue.Empty:
            if await has_ended():
                raise KernelJobError(
                    "The new kernel has ended while variables were saved or restored. They may be "
                    "too large for its memory."
                ) from None
            continue
        if reply["parent_header"].get("msg_id") == asked:
            break
    content = dict(reply["content"])
    if content["status"] != "ok":
        error = f"{content.get('ename', '')}: {content.get('evalue', '')}"
        raise KernelJobError(f"The variables cannot be read or written. {error}.")
    return content


def save_order(folder: Path, settings: KernelJobSettings) -> dict[str, str | float]:
    """Return the arguments of a kernel's `variables.save`, within the site's limits."""
    return {
        "folder": str(folder),
        "max_bytes": min(round(settings.variables_gb * _GB), shutil.disk_usage(folder).free),
        "max_s": settings.variables_minutes * 60,
    }


def check_answer(said: dict[str, Any]) -> dict[str, Any]:
    """Return what a kernel has `said` of its variables, unless it refused."""
    if "refused" in said:
        raise KernelJobError(f"{said['refused']} {_SMALLER}")
    return said


@asynccontextmanager
async def nothing_saved(
    talk: Talk | None, why: str = ""
) -> AsyncIterator[tuple[Saved, Talk | None]]:
    """Leave the variables behind, where it is not the user's choice with the reason `why`."""
    yield Saved(folder=Path(), why=f"{why} {STAY_BEHIND}".strip(), notice=why), talk


@asynccontextmanager
async def saved_in(
    waiting: AbstractAsyncContextManager[Talk],
    settings: KernelJobSettings,
    tell: Callable[[str], None],
) -> AsyncIterator[tuple[Saved, Talk]]:
    """Have a kernel save its variables for as long as it takes to restore them.

    Args:
        waiting: A cell that waits meanwhile.
        tell: Takes how far it is.
    """
    folder = make_folder("variables")
    try:
        async with waiting as cell:
            tell("The variables are being saved.")
            said = check_answer(await cell.save(**save_order(folder, settings)))
            yield Saved.of(folder, said, is_told=cell.is_seen), cell
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
