"""The notebooks that guests read: those that are open, as they change, or files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from jupyter_core.utils import ensure_async
from tornado.web import HTTPError

# Jupyter's kind of a shared document, as its rooms name it.
_NOTEBOOK = "notebook"


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook at one moment.

    Attributes:
        cells: As in its file.
        language: Of its kernel, for the colours of its code.
        is_open: Somebody has it open, so that it changes.
        exists: Its file is there; a window that has it open keeps what it shows without it.
    """

    cells: tuple[Mapping[str, Any], ...]
    language: str
    is_open: bool
    exists: bool


@dataclass(slots=True)
class Watch:
    """Tells when an open notebook, or a cursor in it, changes; ends with `close`."""

    room: Any
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _of_document: Any = None
    _of_cursors: Any = None

    def begin(self) -> None:
        """Listen."""
        self._of_document = self.room.ydoc.observe(lambda _: self.changed.set())
        self._of_cursors = self.room.awareness.observe(lambda *_: self.changed.set())

    def close(self) -> None:
        """Listen no more."""
        self.room.ydoc.unobserve(self._of_document)
        self.room.awareness.unobserve(self._of_cursors)


class Notebooks:
    """Finds the notebooks of a session.

    Args:
        rooms: Returns Jupyter's rooms of shared documents by their ids; empty without
            collaboration.
        contents: The server's contents manager.
    """

    def __init__(self, rooms: Callable[[], Mapping[str, Any]], contents: Any) -> None:
        self._rooms = rooms
        self._contents = contents

    def room(self, path: str) -> Any:
        """Return the room in which a notebook is open, or None."""
        return self._open().get(path)

    def open_paths(self) -> tuple[str, ...]:
        """Return the notebooks that are open."""
        return tuple(sorted(self._open()))

    def lobby(self) -> Any:
        """Return the room in which pages show who is in the session, or None."""
        return self._rooms().get("JupyterLab:globalAwareness")

    async def read(self, path: str) -> Notebook | None:
        """Return a notebook as it is now; None if there is none."""
        room = self.room(path)
        if room is not None:
            content, is_open = room._document.source, True
            exists = await ensure_async(self._contents.file_exists(path))
        else:
            try:
                model = await ensure_async(self._contents.get(path, content=True, type=_NOTEBOOK))
            except HTTPError:
                return None
            content, is_open, exists = model["content"], False, True
        metadata = content.get("metadata", {})
        language = metadata.get("language_info", {}).get("name") or metadata.get(
            "kernelspec", {}
        ).get("language", "python")
        return Notebook(tuple(content.get("cells", ())), str(language), is_open, bool(exists))

    def _open(self) -> dict[str, Any]:
        found = {}
        for room in self._rooms().values():
            if getattr(room, "file_type", "") == _NOTEBOOK and room.ready and room.clients:
                # There is no path once the file was deleted in the file browser.
                with suppress(RuntimeError):
                    found[str(room._file.path)] = room
        return found


def find_rooms(serverapp: Any) -> Mapping[str, Any]:
    """Return the rooms of collaboration in `serverapp`; empty if it is not loaded."""
    apps = serverapp.extension_manager.extension_apps.get("jupyter_server_ydoc", ())
    for app in apps:
        rooms: Mapping[str, Any] = app.ywebsocket_server.rooms
        return rooms
    return {}
