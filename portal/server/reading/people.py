"""Who is in an open notebook and where, and the entry of guests who only read.

Source:
    The fields that JupyterLab's collaboration 5.0 puts into Yjs's awareness: `user`, and `cursors`
    with relative positions. Clients forget an entry that is not renewed for 30 s.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

RENEW_S = 10.0
_MOST_CURSORS = 20
_COLORS = 7


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where somebody is.

    Attributes:
        cell: Its number.
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
    from pycrdt import StickyIndex

    if not isinstance(head, Mapping):
        return None
    try:
        with room.ydoc.transaction() as transaction:
            wanted = StickyIndex.from_json(dict(head))
            index, assoc = wanted.get_index(transaction), wanted.assoc
    # Any client can send anything, and what pycrdt makes of it is not documented.
    except Exception:
        return None
    plain = wanted.to_json()
    for number, cell in enumerate(room._document.ycells):
        text = cell["source"]
        # A position names no cell, so it is compared with the same position of each.
        size = len(str(text).encode())
        if index <= size and StickyIndex.new(text, index, assoc).to_json() == plain:
            before = str(text).encode()[:index].decode(errors="ignore")
            return number, len(before.encode("utf-16-le")) // 2
    return None


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
