"""The notebooks that guests read: those that are open, as they change, or files."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from jupyter_server.serverapp import ServerApp
from jupyter_server.services.contents.manager import AsyncContentsManager

from portal.server.reading.place import look

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


class Notebooks:
    """Finds the notebooks of a session.

    Args:
        rooms: Returns Jupyter's rooms of shared documents by their ids; empty without
            collaboration.
    """

    def __init__(
        self, rooms: Callable[[], Mapping[str, Any]], contents: AsyncContentsManager
    ) -> None:
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
        # Not by Jupyter's contents, which follow links of others.
        place = await asyncio.to_thread(look, Path(self._contents.root_dir), path)
        exists = place.content is not None
        if room is not None and place.is_own:
            content = room._document.source
        elif place.content is None:
            return None
        else:
            # Where others may write, an open notebook may hold what they made its path lead to.
            try:
                content = nbformat.reads(place.content.decode("utf-8"), as_version=4)
            except (ValueError, nbformat.ValidationError):
                return None
        metadata = content.get("metadata", {})
        language = metadata.get("language_info", {}).get("name") or metadata.get(
            "kernelspec", {}
        ).get("language", "python")
        return Notebook(tuple(content.get("cells", ())), str(language), room is not None, exists)

    def _open(self) -> dict[str, Any]:
        found = {}
        for room in self._rooms().values():
            if getattr(room, "file_type", "") == _NOTEBOOK and room.ready and room.clients:
                # There is no path once the file was deleted in the file browser.
                with suppress(RuntimeError):
                    found[str(room._file.path)] = room
        return found


def find_rooms(serverapp: ServerApp) -> Mapping[str, Any]:
    """Return the rooms of collaboration in `serverapp`; empty if it is not loaded."""
    apps = serverapp.extension_manager.extension_apps.get("jupyter_server_ydoc", ())
    for app in apps:
        rooms: Mapping[str, Any] = app.ywebsocket_server.rooms
        return rooms
    return {}
