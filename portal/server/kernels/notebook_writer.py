"""Saves what cells show into their notebooks while no page is there to do it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.services.contents.manager import AsyncContentsManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from tornado.web import HTTPError

from portal.server.base.periodic import PeriodicCall
from portal.server.kernels.execution import CellState, Execution
from portal.server.kernels.execution_watch import ExecutionWatch
from portal.server.kernels.executions import Executions

# A page whose laptop was asleep for less finds its notebook as it left it.
AWAY_S = 600.0
# As often as JupyterLab saves what changes.
INTERVAL_S = 120.0
# Of the 30 s that Slurm leaves a job between SIGTERM and SIGKILL unless a site sets KillWait.
LAST_TIMEOUT_S = 10.0


class NotebookWriter:
    """Writes outputs into notebooks: now and then while their pages are gone, and at the end.

    Args:
        notebook_of: Returns the path of the notebook of a kernel's id, or "".
    """

    def __init__(
        self,
        watch: ExecutionWatch,
        notebook_of: Callable[[str], Awaitable[str]],
        contents: AsyncContentsManager,
        log: logging.Logger,
    ) -> None:
        self._watch = watch
        self._notebook_of = notebook_of
        self._contents = contents
        self._log = log
        self._n_written: dict[str, int] = {}
        self._writes = PeriodicCall(partial(self.write, AWAY_S), INTERVAL_S)

    def start(self) -> None:
        """Start to write now and then."""
        self._writes.start()

    async def stop(self) -> None:
        """Write a last time, whether there are pages or not: none can save from now on."""
        await self._writes.stop()
        try:
            await asyncio.wait_for(self.write(), LAST_TIMEOUT_S)
        except TimeoutError:
            self._log.warning("Outputs were not saved within %.0f s", LAST_TIMEOUT_S)

    async def write(self, away_s: float = 0.0) -> None:
        """Write what has changed into the notebooks whose pages are gone for that long."""
        for kernel_id, executions in self._watch.all_executions().items():
            if executions.away_s < away_s:
                continue
            if executions.n_changes == self._n_written.get(kernel_id, 0):
                continue
            n_changes = executions.n_changes
            try:
                await self._write_one(await self._notebook_of(kernel_id), executions)
            except (HTTPError, OSError) as error:
                self._log.warning("Outputs of kernel %s were not saved: %s", kernel_id, error)
                continue
            self._n_written[kernel_id] = n_changes

    async def _write_one(self, path: str, executions: Executions) -> None:
        # A console has no notebook.
        if not path.endswith(".ipynb"):
            return
        model = await ensure_async(self._contents.get(path, type="notebook"))
        written = write_outputs(model["content"], executions.list_executions())
        if not written:
            return
        # Before the save, during which more of them may end.
        ended = [execution for execution in written if execution.state is CellState.DONE]
        saved = {"type": "notebook", "format": "json", "content": model["content"]}
        await ensure_async(self._contents.save(saved, path))
        for execution in ended:
            # The next page finds it in the notebook.
            execution.is_missed = False
        self._log.info("Saved the output of %d cells in %s: no page is open", len(written), path)


def write_outputs(notebook: NotebookNode, executions: Iterable[Execution]) -> list[Execution]:
    """Replace the outputs of the cells that were executed.

    Args:
        notebook: A notebook of format 4, changed in place.
        executions: In the order in which they were sent.

    Returns:
        Those that were written: the ones that run, or ended while no page was there to show it.
    """
    # nbconvert takes a while to load, and most sessions save nothing here.
    from nbconvert.preprocessors.coalescestreams import CoalesceStreamsPreprocessor

    # Only its reading of messages is used; it starts no kernel.
    reader = NotebookClient(notebook)
    joiner = CoalesceStreamsPreprocessor()
    written = []
    for execution in executions:
        index = _index_of(notebook, execution)
        if index is None or not _is_unseen(execution):
            continue
        cell = notebook.cells[index]
        cell.outputs = []
        # An earlier cell may have ended with clear_output(wait=True).
        reader.clear_before_next_output = False
        execution.end()
        for message in execution.outputs()[0]:
            # Some kernels leave out what the protocol requires; one such message is not the cell.
            with suppress(KeyError):
                reader.process_message(_as_received(message), cell, index)
        cell.execution_count = execution.n_execution
        # It came from this user's own kernel, which is what makes output trusted.
        cell.metadata["trusted"] = True
        written.append(execution)
    for cell in notebook.cells:
        # Last, since display ids count the outputs.
        if cell.cell_type == "code":
            joiner.preprocess_cell(cell, {}, 0)
    return written


def _index_of(notebook: NotebookNode, execution: Execution) -> int | None:
    cells = [(i, cell) for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    alike = [(i, cell) for i, cell in cells if cell.source == execution.code]
    # Output of what has ended belongs to the code that it came from.
    for i, cell in alike if execution.state is CellState.DONE else cells:
        if cell.get("id") == execution.cell_id:
            return i
    # Notebooks of older formats have no lasting ids.
    return alike[0][0] if len(alike) == 1 else None


def _is_unseen(execution: Execution) -> bool:
    if execution.state is CellState.DONE:
        # Without a number it never ran, behind one that failed.
        return execution.is_missed and execution.n_execution is not None
    return execution.state is CellState.RUNNING


def _as_received(message: dict[str, Any]) -> dict[str, Any]:
    header = {"msg_type": message["msg_type"]}
    return {**message, "header": header, "parent_header": {}}
