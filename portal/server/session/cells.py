"""The cells that ran in the session's kernels: marks in the history of its use."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from portal.server.base.kernel_listener import KernelListener, Published

N_KEPT = 200
# Shorter ones are no width in a graph of hours.
SHORTEST_S = 1.0
_LONGEST_TITLE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun:
    """One cell that runs or ran.

    Attributes:
        title: Its first line that is no comment.
        began_s: Unix time.
        ended_s: Unix time; None while it runs.
    """

    kernel_id: str
    number: int
    title: str
    began_s: float
    ended_s: float | None = None


class CellRuns:
    """The last 200 cells that took a second or longer, and those that run.

    Args:
        now: Returns the Unix time.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._running: dict[str, CellRun] = {}
        self._ended: deque[CellRun] = deque(maxlen=N_KEPT)

    def list_runs(self) -> list[CellRun]:
        """Return them, those that run last."""
        return [*self._ended, *self._running.values()]

    def take(self, kernel_id: str, kind: str, parent_kind: str, content: dict[str, Any]) -> None:
        """Take a message that a kernel published, with its `content`."""
        state = content.get("execution_state") if kind == "status" else None
        if kind == "execute_input":
            self._end(kernel_id)
            self._running[kernel_id] = CellRun(
                kernel_id=kernel_id,
                number=int(content.get("execution_count") or 0),
                title=title_of(str(content.get("code", ""))),
                began_s=self._now(),
            )
        elif state in {"starting", "restarting", "dead"} or (
            state == "idle" and parent_kind == "execute_request"
        ):
            self._end(kernel_id)

    def listen(self, listener: KernelListener) -> None:
        """Take what all kernels publish from now on."""
        listener.on_message(self._hear)
        listener.on_end(self._end)
        # A kernel that died publishes nothing, and its successor begins before anybody listens.
        listener.on_death(lambda death: self._end(death.kernel_id))

    def _hear(self, message: Published) -> None:
        # Outputs may be long: they are not read.
        if message.kind in {"execute_input", "status"}:
            self.take(message.kernel_id, message.kind, message.parent_kind, message.content)

    def _end(self, kernel_id: str) -> None:
        run = self._running.pop(kernel_id, None)
        if run is not None and self._now() - run.began_s >= SHORTEST_S:
            self._ended.append(replace(run, ended_s=self._now()))


def title_of(code: str) -> str:
    """Return the first line that says what a cell does, at most 60 characters of it."""
    lines = [line.strip() for line in code.splitlines()]
    telling = [line for line in lines if line and not line.startswith(("#", "import ", "from "))]
    line = next(iter(telling or filter(None, lines)), "")
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 2]} …"
