"""Saves what cells show into their notebooks while no page is there to do it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from jupyter_core.utils import ensure_async
from tornado.web import HTTPError

from portal.server.kernels.execution import CellState
from portal.server.kernels.execution_watch import ExecutionWatch
from portal.server.kernels.executions import Executions
from portal.server.kernels.written_outputs import write_outputs

# A page whose laptop was asleep for less finds its notebook as it left it.
AWAY_S = 600.0
# As often as JupyterLab saves what changes.
INTERVAL_S = 120.0
# Of the 30 s that Slurm leaves a job between SIGTERM and SIGKILL unless a site sets KillWait.
LAST_TIMEOUT_S = 10.0


class NotebookWriter:
    """Writes outputs into notebooks: now and then while their pages are gone, and at the end.

    Args:
        watch: What the cells of all kernels show.
        notebook_of: Returns the path of the notebook of a kernel's id, or "".
        contents: Jupyter's contents manager.
    """

    def __init__(
        self,
        watch: ExecutionWatch,
        notebook_of: Callable[[str], Awaitable[str]],
        contents: Any,
        log: logging.Logger,
    ) -> None:
        self._watch = watch
        self._notebook_of = notebook_of
        self._contents = contents
        self._log = log
        self._n_written: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to write now and then."""
        self._task = asyncio.get_running_loop().create_task(self._write_now_and_then())

    async def stop(self) -> None:
        """Write a last time, whether there are pages or not: none can save from now on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
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

    async def _write_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_S)
            try:
                await self.write(AWAY_S)
            except Exception:
                # One odd notebook must not end the saving of all others.
                self._log.exception("Outputs were not saved")
