"""A conversation with a cell of a kernel that waits for its GPUs: the user's, or the server's own.

A kernel asks on the channel on which it publishes, wherever it is, and is answered on its control
channel, which it reads while a cell runs. Both are for the user's own kernel and server alone.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.session import Session

from portal.server.kernel_jobs.errors import KernelJobError

MESSAGE = "portal_gpus"
# One that waits for its last answer ends at once.
_CELL_END_S = 20.0
_HOLD = "get_ipython().portal_gpus.hold()"
_GONE = "The kernel has been restarted or has ended, so it does not move."


def own_session(kernel: AsyncKernelManager) -> Session:
    """Return a session whose messages and sockets have other ids than those of Jupyter."""
    return Session(config=kernel.session.config, key=kernel.session.key)


class Talk:
    """The server's side of it.

    Args:
        cell: Id of the request that runs the cell.
    """

    # Whether the user sees in a cell what is told.
    is_seen = True
    is_over = False
    # Interrupts what runs elsewhere for the cell.
    interrupt: Callable[[], None] | None = None

    def __init__(self, kernel: AsyncKernelManager, cell: str = "") -> None:
        self.cell = cell
        self._cell_over = asyncio.Event()
        self._session = own_session(kernel)
        self._stream = kernel.connect_control()
        self._reply: asyncio.Future[dict[str, Any]] | None = None

    def tell(self, text: str, end: str = "") -> None:
        """Show words; with `end` they are the last."""
        self._send({"text": text, "end": end})

    async def ask(self, question: str) -> bool:
        """Ask the user in the cell; yes where nobody can answer."""
        self._send({"text": "", "end": "", "ask": question})
        return bool((await self.reply()).get("yes"))

    async def save(self, **order: object) -> dict[str, Any]:
        """Have the kernel save its variables.

        Args:
            order: Arguments of the kernel's `variables.save`.

        Returns:
            What that returns, or "refused" with the reason in words.
        """
        self._send({"text": "", "end": "", "save": order})
        return await self.reply()

    async def reply(self) -> dict[str, Any]:
        """Wait for what the kernel says next.

        Returns:
            That of `save`, or nothing of a cell that waits now.
        """
        self._reply = asyncio.get_running_loop().create_future()
        return await self._reply

    async def restore(self, folder: str) -> dict[str, Any]:
        """Have the kernel restore variables.

        Returns:
            What the kernel's `variables.restore` returns, or "refused" with the reason in words.
        """
        self._send({"text": "", "end": "", "restore": folder})
        return await self.reply()

    def publish(self, kind: str, content: dict[str, Any]) -> None:
        """Show what another kernel has published, a message's `kind` and `content`."""
        self._send({"text": "", "end": "", "publish": (kind, content)})

    def fail(self, traceback: list[str]) -> None:
        """Let the cell end with the error of another kernel."""
        self._send({"text": "", "end": "failed", "traceback": traceback})

    def take(self, reply: dict[str, Any]) -> None:
        """Take the kernel's reply."""
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(reply)

    def ready(self, text: str) -> None:
        """Let the cell end: the kernel moves now."""
        self.tell(text, "moving")

    def end_of_cell(self) -> None:
        """Take that the cell has ended."""
        self._cell_over.set()

    async def until_the_cell_is_over(self) -> None:
        """Wait for the end of the cell, which the kernel's state does not tell of other threads."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._cell_over.wait(), _CELL_END_S)

    def end(self) -> None:
        """Take that the kernel has ended: no reply comes."""
        self.is_over = True
        self.end_of_cell()
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(KernelJobError(_GONE))

    def close(self) -> None:
        """Say no more."""
        self._stream.close()

    def _send(self, content: dict[str, object]) -> None:
        self._session.send(self._stream, MESSAGE, content)
        self._stream.flush()


@asynccontextmanager
async def held(kernel: AsyncKernelManager, talks: dict[str, Talk]) -> AsyncIterator[Talk]:
    """Run a cell that lets the kernel wait: what comes after it does not run there if it moves.

    Args:
        talks: Those by which replies of kernels are taken.
    """
    talk = talks[kernel.kernel_id] = Talk(kernel)
    talk.is_seen = False
    client = kernel.client(session=own_session(kernel))
    client.start_channels(iopub=False, stdin=False, hb=False)
    try:
        # An error at its end lets the cells that wait go; it does so in no silent one.
        talk.cell = client.execute(_HOLD, store_history=False, allow_stdin=False)
        await talk.reply()
        yield talk
    except BaseException:
        talk.tell("The kernel stays.", "told")
        raise
    finally:
        client.stop_channels()
        talks.pop(kernel.kernel_id, None)
        talk.close()
