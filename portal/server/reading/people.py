"""Who is in an open notebook and where, and the entry of guests who only read.

Source:
    The fields that JupyterLab's collaboration 5.0 puts into Yjs's awareness: `user`, and `cursors`
    with relative positions. Clients forget an entry that is not renewed for 30 s.
"""

import asyncio
import json
import random
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

RENEW_S = 10.0
_MOST_CURSORS = 20
_COLORS = 7
_MOST_LOST = 100
# Positions in what is deleted, which pycrdt cannot find.
_lost: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where somebody is.

    Attributes:
        offset: Characters before it, as JavaScript counts them.
    """

    name: str
    cell: int
    offset: int


def list_people(awareness: Any) -> tuple[str, ...]:
    """Return the names of those who are in the room of this `awareness`."""
    return tuple(sorted({name for name, _ in _states(awareness)}))


def find_cursors(room: Any) -> tuple[Cursor, ...]:
    """Return the cursors in the cells of the notebook of this `room`."""
    found = []
    for name, state in _states(room.awareness):
        cursors = state.get("cursors")
        heads = [
            one.get("head")
            for one in (cursors if isinstance(cursors, list) else [])
            if isinstance(one, Mapping)
        ]
        for head in heads[:1]:
            place = _find_place(room, head)
            if place is not None:
                found.append(Cursor(name, *place))
    return tuple(found[:_MOST_CURSORS])


def _states(awareness: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for state in list(awareness.states.values()):
        user = state.get("user") if isinstance(state, Mapping) else None
        if isinstance(user, Mapping):
            yield str(user.get("display_name") or user.get("name") or "somebody"), state


def _find_place(room: Any, head: Any) -> tuple[int, int] | None:
    """Return the number of the cell and the offset of a relative position."""
    if not isinstance(head, Mapping):
        return None
    key = json.dumps(head, sort_keys=True, default=str)
    lost = _lost.setdefault(room, set())
    if key in lost or not _is_known(room.ydoc, head):
        return None
    try:
        return _find_known_place(room, head)
    # Any client can send anything. A panic of pycrdt's Rust is no Exception, and writes to the log,
    # so that the same position is not tried again.
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if len(lost) >= _MOST_LOST:
            lost.clear()
        lost.add(key)
        return None


def _is_known(ydoc: Any, head: Mapping[str, Any]) -> bool:
    """Return whether the change that a position names has come; a cursor may come before it."""
    from pycrdt import Decoder

    named = head.get("item") or head.get("type")
    if not isinstance(named, Mapping):
        return False
    decoder = Decoder(ydoc.get_state())
    clocks = {
        decoder.read_var_uint(): decoder.read_var_uint() for _ in range(decoder.read_var_uint())
    }
    clock = named.get("clock")
    return isinstance(clock, int) and clock < clocks.get(named.get("client"), 0)


def _find_known_place(room: Any, head: Mapping[str, Any]) -> tuple[int, int] | None:
    from pycrdt import Assoc, StickyIndex

    texts = [cell["source"] for cell in room._document.ycells]
    if not head.get("item"):
        # The end of a text, or its start.
        for number, text in enumerate(texts):
            if StickyIndex.new(text, 0, Assoc.BEFORE).to_json().get("type") == head["type"]:
                is_end = head.get("assoc", 0) >= 0
                return number, _count_utf16(str(text)) if is_end else 0
        return None
    with room.ydoc.transaction() as transaction:
        wanted = StickyIndex.from_json(dict(head))
        index, assoc = wanted.get_index(transaction), wanted.assoc
    plain = wanted.to_json()
    for number, text in enumerate(texts):
        # A position names no cell, so it is compared with the same position of each.
        if index < len(str(text).encode()):
            found = StickyIndex.new(text, index, assoc).to_json()
            if found == plain:
                return number, _count_before(text, index, plain, assoc)
    return None


def _count_before(text: Any, index: int, plain: Mapping[str, Any], assoc: Any) -> int:
    """Return the UTF-16 units before a position.

    pycrdt counts bytes in what was inserted before, and UTF-16 units in what the position is in.
    """
    from pycrdt import StickyIndex

    item = plain["item"]

    def is_same_insertion(before: int) -> bool:
        named = StickyIndex.new(text, before, assoc).to_json().get("item")
        return bool(named == {**item, "clock": item["clock"] - index + before})

    start = bisect_left(range(index), True, key=is_same_insertion)
    return _count_utf16(str(text).encode()[:start].decode(errors="ignore")) + index - start


def _count_utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@dataclass(slots=True)
class Entry:
    """A guest's entry in the list of people, in one room."""

    room: Any
    name: str
    path: str
    client_id: int = field(default_factory=lambda: random.getrandbits(31))
    clock: int = 0

    async def show(self) -> None:
        """Add or renew it."""
        await self._send(
            {
                "user": {
                    "username": self.name,
                    "name": f"{self.name} (reads)",
                    "display_name": f"{self.name} (reads)",
                    "initials": self.name[:1].upper(),
                    "color": f"var(--jp-collaborator-color{self.client_id % _COLORS + 1})",
                },
                "current": f"notebook:RTC:{self.path}",
            }
        )

    async def remove(self) -> None:
        """Take it away."""
        await self._send(None)

    async def _send(self, state: Mapping[str, Any] | None) -> None:
        from pycrdt import Encoder, create_awareness_message

        self.clock += 1
        encoder = Encoder()
        encoder.write_var_uint(1)
        encoder.write_var_uint(self.client_id)
        encoder.write_var_uint(self.clock)
        encoder.write_var_string(json.dumps(state))
        update = encoder.to_bytes()
        self.room.awareness.apply_awareness_update(update, "reading")
        message = create_awareness_message(update)
        await asyncio.gather(
            *(client.send(message) for client in list(self.room.clients)), return_exceptions=True
        )
