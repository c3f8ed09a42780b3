"""One cell that was sent to a kernel, and what it shows; pure logic, without a server."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from portal.server.kernels.long_output import LongOutput

# Of all that one cell shows; of more, such as many pictures, the start is left out.
MOST_BYTES = 30_000_000
# Text that is made longer for each line takes ever longer, so it is kept in pieces.
_PIECE_BYTES = 50_000
LEFT_OUT = "… The start of a long output is left out.\n"
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
    n_bytes: int


@dataclass(slots=True)
class Execution:
    """One cell that was sent to a kernel.

    Attributes:
        id: Id of the message that sent it.
        tab: What tells the tab that sent it from others.
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
    _text: LongOutput = field(init=False)
    _outputs: list[_Output] = field(default_factory=list)
    _n_bytes: int = 0
    _number: int = 0
    _given: int = 0
    _has_failed: bool = False

    def __post_init__(self) -> None:
        self._text = LongOutput(self.id)

    def add(self, kind: str, content: Message, metadata: Message) -> None:
        """Take a message that the kernel published about this cell."""
        if kind == "execute_input":
            self.n_execution = content.get("execution_count")
        self._has_failed = self._has_failed or kind == "error"
        if kind in _OUTPUTS:
            for message in self._text.take(kind, content, metadata):
                self._show(message)

    def end(self) -> None:
        """Show all of the end of a long output, which may go on."""
        for message in self._text.end():
            self._show(message)

    def _show(self, message: Message) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "stream" and self._continue_stream(content):
            return
        if kind == "clear_output" and not content.get("wait"):
            self._outputs.clear()
            self._n_bytes = 0
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
        self._n_bytes += output.n_bytes

    def _continue_stream(self, content: Message) -> bool:
        last = self._outputs[-1] if self._outputs else None
        # What a page has been given stays as it is.
        if last is None or last.number <= self._given or last.message["msg_type"] != "stream":
            return False
        before = last.message["content"]
        if before["name"] != content["name"] or last.n_bytes > _PIECE_BYTES:
            return False
        before["text"] += content["text"]
        n_bytes = _size(content)
        last.n_bytes += n_bytes
        self._n_bytes += n_bytes
        self._shorten()
        return True

    def _drop_earlier_update(self, display_id: object) -> None:
        # A progress bar that is drawn for hours sends one for each step.
        for output in reversed(self._outputs):
            is_update = output.message["msg_type"] == "update_display_data"
            if is_update and _display_id(output.message["content"]) == display_id:
                self._outputs.remove(output)
                self._n_bytes -= output.n_bytes
                return

    def _shorten(self) -> None:
        is_shortened = False
        while self._n_bytes > MOST_BYTES and len(self._outputs) > 1:
            dropped = next(
                (output for output in self._outputs[:-1] if not _is_note(output.message)), None
            )
            if dropped is None:
                return
            self._outputs.remove(dropped)
            self._n_bytes -= dropped.n_bytes
            is_shortened = True
        if is_shortened and not _is_note(self._outputs[0].message):
            content = {"name": "stdout", "text": LEFT_OUT}
            note = {"msg_type": "stream", "content": content, "metadata": {}}
            # Number 0: a page that follows has seen what is left out.
            self._outputs.insert(0, _Output(0, note, 0))


def _size(content: Message) -> int:
    texts = [content.get("text", ""), *(content.get("data") or {}).values()]
    return sum(len(str(text).encode(errors="replace")) for text in texts)


def _display_id(content: Message) -> object:
    return (content.get("transient") or {}).get("display_id")


def _is_note(message: Message) -> bool:
    return bool(message["content"].get("text") == LEFT_OUT)
