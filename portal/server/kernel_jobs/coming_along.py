"""How the variables of a kernel that moves come along: by its Python, by R, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from jupyter_client.manager import AsyncKernelManager

from portal.server.kernel_jobs.ability import saves_variables
from portal.server.kernel_jobs.move import cell_ended
from portal.server.kernel_jobs.r_variables import HeldR, saved_by_r
from portal.server.kernel_jobs.request import Variables
from portal.server.kernel_jobs.talk import Talk, held
from portal.server.kernel_jobs.variables import Saved, nothing_saved, saved_in
from portal.settings.kernel_jobs import KernelJobSettings

# A cell that waits meanwhile.
Cell = Talk | HeldR


def saved_of(
    kernel: AsyncKernelManager,
    wanted: Variables | None,
    settings: KernelJobSettings,
    tell: Callable[[str], None],
    talk: Talk | None,
    talks: dict[str, Talk],
) -> AbstractAsyncContextManager[tuple[Saved, Cell | None]]:
    """Have a kernel save its variables for as long as it takes to restore them.

    Args:
        wanted: Nothing is saved with NEVER.
        tell: Takes how far it is.
        talk: With the cell that asks, if one does.
    """
    if wanted is Variables.NEVER:
        return nothing_saved(talk)
    if kernel.kernel_spec.language == "R":
        return saved_by_r(kernel, settings, tell)
    if not saves_variables(kernel.kernel_spec):
        return nothing_saved(talk, "This kernel cannot save its variables.")
    return saved_in(nullcontext(talk) if talk else held(kernel, talks), settings, tell)


async def end_cell(
    kernel: AsyncKernelManager, cell: Cell | None, words: str, tell: Callable[[str], None]
) -> None:
    """Let the cell that waits end, or wait for the one that runs: a move would end it.

    Args:
        words: How the kernel goes on, for the cell.
        tell: Takes why the move waits.
    """
    if cell is None:
        await cell_ended(kernel, tell)
        return
    tell("The kernel moves.")
    cell.ready(f"The kernel starts anew {words}")
    await cell.until_the_cell_is_over()
