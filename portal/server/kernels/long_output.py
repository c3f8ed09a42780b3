"""The text of a cell that prints much: its beginning and its end; pure logic, without a server."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]
# Of one cell's text a page shows at most twice as many bytes in UTF-8; more makes browsers slow.
HALF_BYTES = 2_000_000
_MB = 1_000_000
# While the cell prints, the end is drawn anew again and again, so that this is kept short.
_DRAWN_BYTES = 50_000
_INTERVAL_S = 1.0
_NOTE = (
    "… {left_out_mb:.1f} MB of this output are left out here. Its end follows. To keep all of it, "
    "write it to a file. …\n"
)


class LongOutput:
    """What a page is sent of a cell's output.

    The first 2 MB of its text are sent as they are. What follows is an output of its own, which
    holds the end of the text and is drawn anew at most once a second.

    Args:
        name: Tells the cell's run from others.
        clock: Seconds of a clock that only goes forward.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._display_id = f"long-output-{name}"
        self._clock = clock
        self._clear()

    def _clear(self) -> None:
        self._head_bytes = 0
        self._line_bytes = 0
        self._end: deque[bytes] = deque()
        self._end_bytes = 0
        self._dropped_bytes = 0
        self._drawn_s = -_INTERVAL_S
        self._is_drawn = False

    def take(self, kind: str, content: Message, metadata: Message) -> list[Message]:
        """Take a message that the kernel published, and return those to send in its place."""
        if kind == "clear_output":
            self._clear()
        if kind != "stream":
            return [_message(kind, content, metadata)]
        text = content["text"].encode(errors="replace")
        sent = []
        room = HALF_BYTES - self._head_bytes
        if room > 0 and not self._end:
            head, text = text[:room], text[room:]
            self._head_bytes += self._growth(head)
            shown = content if not text else {**content, "text": head.decode(errors="ignore")}
            sent.append(_message(kind, shown, metadata))
        if text:
            self._keep(text)
            if self._clock() - self._drawn_s >= _INTERVAL_S:
                sent.append(self._draw(_DRAWN_BYTES))
        return sent

    def end(self) -> list[Message]:
        """Return what is to be sent when the cell has ended: all of the end."""
        return [self._draw(HALF_BYTES)] if self._end else []

    def _growth(self, text: bytes) -> int:
        """Return by how much the text of a page grows: a progress bar overwrites its line."""
        if b"\r" not in text:
            _, newline, line = text.rpartition(b"\n")
            self._line_bytes = len(line) + (0 if newline else self._line_bytes)
            return len(text)
        growth = -self._line_bytes
        first, *others = text.split(b"\n")
        line = b" " * self._line_bytes + first
        for following in others:
            growth += len(_overwritten(line)) + 1
            line = following
        self._line_bytes = len(_overwritten(line))
        return growth + self._line_bytes

    def _keep(self, text: bytes) -> None:
        if self._end and len(self._end[-1]) < _DRAWN_BYTES:
            # Few long pieces take less memory than many short ones.
            before = self._end.pop()
            self._end_bytes -= len(before)
            text = before + text
        kept = text[-HALF_BYTES:]
        self._dropped_bytes += len(text) - len(kept)
        self._end.append(kept)
        self._end_bytes += len(kept)
        while self._end_bytes - len(self._end[0]) > HALF_BYTES:
            dropped = self._end.popleft()
            self._end_bytes -= len(dropped)
            self._dropped_bytes += len(dropped)

    def _draw(self, most_bytes: int) -> Message:
        pieces, n_bytes = [], 0
        for piece in reversed(self._end):
            if n_bytes >= most_bytes:
                break
            pieces.append(piece)
            n_bytes += len(piece)
        end = b"".join(reversed(pieces))[-most_bytes:]
        left_out_mb = (self._dropped_bytes + self._end_bytes - len(end)) / _MB
        # A whole line is the first.
        shown = end if left_out_mb == 0 else end[end.find(b"\n") + 1 :]
        text = b"\n".join(map(_overwritten, shown.split(b"\n"))).decode(errors="ignore")
        note = _NOTE.format(left_out_mb=left_out_mb) if left_out_mb else ""
        kind = "update_display_data" if self._is_drawn else "display_data"
        self._is_drawn, self._drawn_s = True, self._clock()
        data = {"data": {"text/plain": note + text}, "metadata": {}}
        return _message(kind, {**data, "transient": {"display_id": self._display_id}}, {})


def _overwritten(line: bytes) -> bytes:
    if b"\r" not in line:
        return line
    return next((part for part in reversed(line.split(b"\r")) if part), b"")


def _message(kind: str, content: Message, metadata: Message) -> Message:
    return {"msg_type": kind, "content": content, "metadata": metadata}
