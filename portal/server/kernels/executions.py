"""What cells print while no tab listens: JupyterLab forgets a cell that runs when it is reloaded.

Pure logic, without a server.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

# As much of one cell as a page can show; of longer output the start is left out.
MOST_CHARACTERS = 10_000_000
# Text that is made longer for each line takes ever longer, so it is kept in pieces.
_PIECE_CHARACTERS = 50_000
LEFT_OUT = "… The start of a long output is left out.\n"
# A cell that has ended is kept for this long, since a tab may be gone some time before the server
# hears of it: Jupyter pings a tab every 90 s.
KEEP_S = 180.0
_OUTPUTS = frozenset(
    {"stream", "display_data", "update_display_data", "execute_result", "error", "clear_output"}
)
Message = dict[str, Any]


class CellState(Enum):
    """Stages of a cell that was sent to a kernel."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"


@dataclass(slots=True)
class _Output:
    number: int
    message: Message
    n_characters: int


@dataclass(slots=True)
class Execution:
    """One cell that was sent to a kernel.

    Attributes:
        id: Id of the message that sent it.
        tab: What tells the tab that sent it from others.
        cell_id: Id of the cell in its notebook.
        code: What was sent.
        n_execution: The number in its brackets; None before it runs.
        ended_s: When it ended, by a clock that only goes forward; None before.
        is_missed: Whether its tab was gone when it ended.
    """

    id: str
    tab: str
    cell_id: str
    code: str
    state: CellState = CellState.QUEUED
    n_execution: int | None = None
    ended_s: float | None = None
    is_missed: bool = False
    _outputs: list[_Output] = field(default_factory=list)
    _n_characters: int = 0
    _number: int = 0
    _given: int = 0
    _has_failed: bool = False

    def add(self, kind: str, content: Message, metadata: Message) -> None:
        """Take a message that the kernel published about this cell."""
        if kind == "execute_input":
            self.n_execution = content.get("execution_count")
        self._has_failed = self._has_failed or kind == "error"
        if kind not in _OUTPUTS:
            return
        if kind == "stream" and self._continue_stream(content):
            return
        message = {"msg_type": kind, "content": content, "metadata": metadata}
        if kind == "clear_output" and not content.get("wait"):
            self._outputs.clear()
            self._n_characters = 0
        if kind == "update_display_data":
            self._drop_earlier_update(_display_id(content))
        self._append(message)
        self._shorten()

    def outputs(self, after: int = 0) -> tuple[list[Message], int]:
        """Return the messages after a number, and the number of the last; 0 begins with the first.

        A page that shows them one after another shows the cell's output.
        """
        self._given = self._number
        listed = [each.message for each in self._outputs if not after or each.number > after]
        return listed, self._number

    @property
    def has_failed(self) -> bool:
        """Whether the cell raised an exception."""
        return self._has_failed

    def _append(self, message: Message) -> None:
        self._number += 1
        output = _Output(self._number, message, _size(message["content"]))
        self._outputs.append(output)
        self._n_characters += output.n_characters

    def _continue_stream(self, content: Message) -> bool:
        last = self._outputs[-1] if self._outputs else None
        # What a page has been given stays as it is.
        if last is None or last.number <= self._given or last.message["msg_type"] != "stream":
            return False
        before = last.message["content"]
        if before["name"] != content["name"] or last.n_characters > _PIECE_CHARACTERS:
            return False
        before["text"] += content["text"]
        last.n_characters += len(content["text"])
        self._n_characters += len(content["text"])
        self._shorten()
        return True

    def _drop_earlier_update(self, display_id: object) -> None:
        # A progress bar that is drawn for hours sends one for each step.
        for output in reversed(self._outputs):
            is_update = output.message["msg_type"] == "update_display_data"
            if is_update and _display_id(output.message["content"]) == display_id:
                self._outputs.remove(output)
                self._n_characters -= output.n_characters
                return

    def _shorten(self) -> None:
        is_shortened = False
        while self._n_characters > MOST_CHARACTERS and len(self._outputs) > 1:
            dropped = next(
                (output for output in self._outputs[:-1] if not _is_note(output.message)), None
            )
            if dropped is None:
                return
            self._outputs.remove(dropped)
            self._n_characters -= dropped.n_characters
            is_shortened = True
        if is_shortened and not _is_note(self._outputs[0].message):
            content = {"name": "stdout", "text": LEFT_OUT}
            note = {"msg_type": "stream", "content": content, "metadata": {}}
            # Number 0: a page that follows has seen what is left out.
            self._outputs.insert(0, _Output(0, note, 0))


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
            content: The message's content.
            metadata: The message's metadata.
        """
        if kind == "status" and content.get("execution_state") in {"starting", "restarting"}:
            self._end_all()
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
                self._end_all()

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

    def _end_all(self) -> None:
        for execution in self.list_executions():
            self._end(execution)

    def _end(self, execution: Execution) -> None:
        if execution.state is not CellState.DONE:
            execution.state = CellState.DONE
            execution.ended_s = self._clock()
            execution.is_missed = not self.is_open(execution.tab)

    def _forget_shown(self) -> None:
        for each in [*self._executions.values()]:
            is_old = each.ended_s is not None and self._clock() - each.ended_s > KEEP_S
            if is_old and self.is_open(each.tab):
                self.forget(each.id)


def _size(content: Message) -> int:
    return len(content.get("text", "")) + sum(
        len(str(value)) for value in (content.get("data") or {}).values()
    )


def _display_id(content: Message) -> object:
    return (content.get("transient") or {}).get("display_id")


def _is_note(message: Message) -> bool:
    return bool(message["content"].get("text") == LEFT_OUT)
