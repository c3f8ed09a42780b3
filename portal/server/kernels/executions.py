"""What cells print while no tab listens: JupyterLab forgets a cell that runs when it is reloaded.

Pure logic, without a server.
"""

import time
from collections.abc import Callable
from typing import Any

from portal.server.kernels.execution import CellState, Execution, Message

# A cell that has ended is kept for this long, since a tab may be gone some time before the server
# hears of it: Jupyter pings a tab every 90 s.
KEEP_S = 180.0


class Executions:
    """The cells of one kernel whose output a tab may have missed.

    Args:
        clock: Seconds of a clock that only goes forward.

    Attributes:
        n_changes: Grows with each message about a cell.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._executions: dict[str, Execution] = {}
        self._tabs: dict[str, int] = {}
        self._left_s = clock()
        self.n_changes = 0

    @property
    def away_s(self) -> float:
        """Seconds since the last tab has gone; 0 while one is connected."""
        return 0.0 if self._tabs else self._clock() - self._left_s

    def open_tab(self, tab: str) -> None:
        """Note that a tab is connected."""
        self._tabs[tab] = self._tabs.get(tab, 0) + 1

    def close_tab(self, tab: str) -> None:
        """Note that a connection of a tab has ended; it may have a newer one."""
        left = self._tabs.get(tab, 0) - 1
        if left > 0:
            self._tabs[tab] = left
        else:
            self._tabs.pop(tab, None)
            self._left_s = self._clock()

    def is_open(self, tab: str) -> bool:
        """Return whether a tab is connected."""
        return tab in self._tabs

    def send(self, execution: Execution) -> None:
        """Note that a cell was sent; what an earlier run of it left is forgotten."""
        for earlier in self.list_executions():
            if earlier.cell_id == execution.cell_id:
                self.forget(earlier.id)
        self._executions[execution.id] = execution

    def claim(self, execution_id: str, tab: str) -> bool:
        """Let a tab show a cell whose own tab is gone, so that of several only one does.

        Returns:
            Whether it may; not if another tab shows the cell, or there is no such cell.
        """
        execution = self._executions.get(execution_id)
        if execution is None or (self.is_open(execution.tab) and execution.tab != tab):
            return False
        execution.tab = tab
        return True

    def publish(self, parent_id: str, kind: str, content: Message, metadata: Message) -> None:
        """Take a message that the kernel published.

        Args:
            parent_id: Id of the message that it belongs to; empty for none.
            kind: Its type, such as "stream".
        """
        if kind == "status" and content.get("execution_state") in {"starting", "restarting"}:
            self.end_all()
        execution = self._executions.get(parent_id)
        if execution is None:
            return
        self.n_changes += 1
        if kind != "status":
            execution.add(kind, content, metadata)
        elif content.get("execution_state") == "busy":
            execution.state = CellState.RUNNING
        elif content.get("execution_state") == "idle":
            self._end(execution)
            if execution.has_failed:
                # The kernel refuses what waits behind a cell that failed, and publishes nothing.
                self.end_all()

    def list_executions(self) -> list[Execution]:
        """Return the cells in the order in which they were sent."""
        self._forget_shown()
        return list(self._executions.values())

    def as_json(self, execution_id: str = "", *, after: int = 0) -> list[dict[str, Any]]:
        """Return cells, with what they showed, as JSON values.

        Args:
            execution_id: The one that is wanted; empty for all.
            after: Number of the last output that is known already; 0 for all.
        """
        listed = []
        for each in self.list_executions():
            if execution_id and each.id != execution_id:
                continue
            outputs, last = each.outputs(after)
            listed.append(
                {
                    "id": each.id,
                    "tab": each.tab,
                    "has_tab": self.is_open(each.tab),
                    "is_missed": each.is_missed,
                    "cell_id": each.cell_id,
                    "code": each.code,
                    "state": each.state.value,
                    "execution_count": each.n_execution,
                    "outputs": outputs,
                    "last": last,
                }
            )
        return listed

    def forget(self, execution_id: str) -> None:
        """Forget a cell: a notebook was saved with its output."""
        self._executions.pop(execution_id, None)

    def forget_of_tab(self, tab: str) -> None:
        """Forget the cells that ended in a tab, which has saved the notebook since."""
        for each in self.list_executions():
            if each.tab == tab and each.state is CellState.DONE and not each.is_missed:
                self.forget(each.id)

    def end_all(self) -> None:
        """Note that the kernel runs none of them any more."""
        for execution in self.list_executions():
            self._end(execution)

    def _end(self, execution: Execution) -> None:
        if execution.state is not CellState.DONE:
            execution.state = CellState.DONE
            execution.end()
            execution.ended_s = self._clock()
            execution.is_missed = not self.is_open(execution.tab)

    def _forget_shown(self) -> None:
        for each in [*self._executions.values()]:
            is_old = each.ended_s is not None and self._clock() - each.ended_s > KEEP_S
            if is_old and self.is_open(each.tab):
                self.forget(each.id)
