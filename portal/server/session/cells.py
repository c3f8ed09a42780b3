"""The cells that ran in the session's kernels: marks in the history of its use."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from jupyter_client.session import Session

N_KEPT = 200
# Shorter ones are no width in a graph of hours.
SHORTEST_S = 1.0
_LONGEST_TITLE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun:
    """One cell that runs or ran.

    Attributes:
        number: The number in its brackets.
        title: Its first line that is no comment.
        began_s: Unix time.
        ended_s: Unix time; None while it runs.
    """

    kernel_id: str
    number: int
    title: str
    began_s: float
    ended_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


class CellRuns:
    """The last 200 cells that took a second or longer, and those that run.

    Args:
        now: Returns the Unix time.
    """

    def __init__(self, log: logging.Logger, *, now: Callable[[], float] = time.time) -> None:
        self._log = log
        self._now = now
        self._running: dict[str, CellRun] = {}
        self._ended: deque[CellRun] = deque(maxlen=N_KEPT)
        self._streams: dict[str, Any] = {}

    def list_runs(self) -> list[CellRun]:
        """Return them, those that run last."""
        return [*self._ended, *self._running.values()]

    def take(self, kernel_id: str, kind: str, parent_kind: str, content: dict[str, Any]) -> None:
        """Take a message that a kernel published.

        Args:
            kernel_id: The kernel.
            kind: The message's type.
            parent_kind: Type of the message that it answers.
            content: The message's content.
        """
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

    def watch(self, kernel_manager: Any) -> None:
        """Listen to all kernels that `kernel_manager` starts from now on."""
        start, stop = kernel_manager.start_watching_activity, kernel_manager.stop_watching_activity

        def start_watching(kernel_id: str) -> None:
            start(kernel_id)
            self._listen(kernel_id, kernel_manager.get_kernel(kernel_id))

        def stop_watching(kernel_id: str) -> None:
            stop(kernel_id)
            self._close(kernel_id)

        kernel_manager.start_watching_activity = start_watching
        kernel_manager.stop_watching_activity = stop_watching

    def _listen(self, kernel_id: str, kernel: Any) -> None:
        self._close(kernel_id)
        session = Session(config=kernel.session.config, key=kernel.session.key)

        def take(parts: list[Any]) -> None:
            try:
                _, fed = session.feed_identities(parts)
                message = session.deserialize(fed, content=False)
                kind = message["header"]["msg_type"]
                # Outputs may be long: they are not read.
                if kind in {"execute_input", "status"}:
                    parent_kind = (message.get("parent_header") or {}).get("msg_type", "")
                    self.take(kernel_id, kind, parent_kind, session.unpack(message["content"]))
            except (ValueError, KeyError, TypeError) as error:
                self._log.warning("A message of kernel %s cannot be read: %s", kernel_id, error)

        stream = kernel.connect_iopub()
        stream.on_recv(take)
        self._streams[kernel_id] = stream

    def _close(self, kernel_id: str) -> None:
        self._end(kernel_id)
        stream = self._streams.pop(kernel_id, None)
        if stream is not None and not stream.closed():
            stream.close()

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
