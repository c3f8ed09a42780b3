"""The routes of guests who only read: a page, and a websocket that takes nothing."""

import asyncio
import html
import json
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado.web import HTTPError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from portal.server.base.authorization import RouteArguments, for_the_user
from portal.server.base.guest_rights import (
    EVERYTHING,
    READING_PAGE,
    ForReaders,
    GuestRights,
    Rights,
    is_guest,
)
from portal.server.reading.cells import CellView, Renderer
from portal.server.reading.notebooks import Notebook, Notebooks, find_rooms
from portal.server.reading.people import RENEW_S, Entry, find_cursors, list_people

# Changes that come together are shown together.
TOGETHER_S = 0.2
# After this a file is read again, and the guest's rights are looked at.
LOOK_AGAIN_S = 3.0
# A browser that takes nothing for so long is left alone.
SEND_TIMEOUT_S = 30.0
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_Message = dict[str, Any]


class _ReadingHandler(RouteArguments, ForReaders, JupyterHandler):
    auth_resource = "contents"
    _track_activity = False

    notebooks: Notebooks
    rights: GuestRights
    renderer: Renderer

    async def read_rights(self) -> Rights:
        """Return what the user may do; the owner may read everything."""
        if not is_guest(self):
            return EVERYTHING
        return await self.rights.of(str(self.current_user.username))

    async def may_read(self, path: str) -> bool:
        """Return whether the user may read a notebook now."""
        is_open = path in self.notebooks.open_paths()
        return (await self.read_rights()).may_read(path, is_open=is_open)


class ReadingPage(_ReadingHandler):
    """The page of one notebook, or the list of those that may be read."""

    @property
    def content_security_policy(self) -> str:
        """Let no script run but this page's, whatever a notebook contains."""
        return _POLICY

    @for_the_user
    async def get(self, path: str = "") -> None:
        """Render it."""
        if path and not await self.may_read(path):
            raise HTTPError(
                403, f"You may not read {path}: it is not shared with you, or it is not open."
            )
        name = "reading.html" if path else "reading_list.html"
        owner = os.environ.get("JUPYTERHUB_USER", "")
        texts = {
            "{base_url}": self.base_url,
            "{path}": path,
            "{owner}": owner or "the owner",
            "{Owner}": owner or "The owner",
            "{name}": str(self.current_user.username),
        }
        page = Path(__file__).with_name("pages").joinpath(name).read_text(encoding="utf-8")
        for mark, text in texts.items():
            page = page.replace(mark, html.escape(text))
        if not path:
            page = page.replace("{items}", await self._list_items())
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.finish(page)

    async def _list_items(self) -> str:
        rights, opened = await self.read_rights(), self.notebooks.open_paths()
        paths = {path for path in opened if rights.may_read(path, is_open=True)}
        items = []
        for path in sorted(paths | rights.documents):
            url = html.escape(url_path_join(self.base_url, READING_PAGE, quote(path)))
            items.append(f'<li><a href="{url}">{html.escape(path)}</a></li>')
        return (
            "".join(items) or "<li>No notebook is open now. This page looks again by itself.</li>"
        )


class ReadingSocket(WebSocketMixin, WebSocketHandler, _ReadingHandler):
    """Sends a notebook whenever it changes, and takes nothing."""

    tasks: set[asyncio.Task[None]]
    path = ""
    task: asyncio.Task[None] | None = None

    async def get(self, path: str = "") -> None:
        """Accept the websocket of somebody who may read the notebook."""
        if self.current_user is None or not await self.may_read(path):
            raise HTTPError(403)
        self.path = path
        await super().get(path)

    def open(self, path: str = "") -> None:
        """Start to send."""
        super().open(path)
        self.task = asyncio.ensure_future(self._show())
        self.tasks.add(self.task)
        self.task.add_done_callback(self._end)

    def on_message(self, message: str | bytes) -> None:
        """Take nothing: whoever sends is no page of this portal."""
        self.close(1008, "This page only reads.")

    def on_close(self) -> None:
        """Stop to send."""
        super().on_close()
        if self.task is not None:
            self.task.cancel()

    def _end(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        # Here, as a panic of pycrdt's Rust is no Exception: the page must not go on to say Live.
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, WebSocketClosedError):
            self.log.error("A guest's page of %s stopped", self.path, exc_info=error)
            self.close(1011, "This page stopped. Load it again.")

    async def _show(self) -> None:
        sent: _Message = {}
        entries: list[Entry] = []
        renewed_s = 0.0
        loop = asyncio.get_running_loop()
        try:
            while await self.may_read(self.path):
                room = self.notebooks.room(self.path)
                notebook = await self.notebooks.read(self.path)
                if loop.time() - renewed_s >= RENEW_S or not any(e.room is room for e in entries):
                    entries = await self._enter(entries, room)
                    renewed_s = loop.time()
                sent = await self._send_changes(sent, notebook, room)
                await _wait_for_change(room)
            self.close(1000, "You may no longer read this notebook, or it is not open.")
        finally:
            await asyncio.shield(asyncio.gather(*(entry.remove() for entry in entries)))

    async def _enter(self, entries: list[Entry], room: Any) -> list[Entry]:
        """Show the guest among the people of the notebook and of the session."""
        if not is_guest(self):
            return []
        rooms = [one for one in (room, self.notebooks.lobby()) if one is not None]
        name = str(self.current_user.username)
        kept = [entry for entry in entries if any(entry.room is one for one in rooms)]
        new = [one for one in rooms if not any(entry.room is one for entry in kept)]
        entries = kept + [Entry(one, name, self.path) for one in new]
        for entry in entries:
            await entry.show()
        return entries

    async def _send_changes(self, sent: _Message, notebook: Notebook | None, room: Any) -> _Message:
        cells: tuple[CellView, ...] = ()
        if notebook is not None:
            cells = await self.renderer.render(notebook.cells, notebook.language)
        message: _Message = {
            "exists": notebook is not None and notebook.exists,
            "open": notebook is not None and notebook.is_open,
            "people": list(list_people(room.awareness)) if room is not None else [],
            "cursors": [asdict(one) for one in find_cursors(room)] if room is not None else [],
            "cells": [{"id": cell.id, "digest": cell.digest} for cell in cells],
        }
        if message != sent:
            known = {cell["digest"] for cell in sent.get("cells", ())}
            new = {cell.digest: cell.html for cell in cells if cell.digest not in known}
            text = json.dumps({**message, "html": new})
            await asyncio.wait_for(self.write_message(text), SEND_TIMEOUT_S)
        return message


async def _wait_for_change(room: Any) -> None:
    if room is None:
        await asyncio.sleep(LOOK_AGAIN_S)
        return
    changed = asyncio.Event()
    # Of cursors, too.
    seen = [(one, one.observe(lambda *_: changed.set())) for one in (room.ydoc, room.awareness)]
    try:
        await asyncio.wait_for(changed.wait(), LOOK_AGAIN_S)
        await asyncio.sleep(TOGETHER_S)
    except TimeoutError:
        pass
    finally:
        for one, subscription in seen:
            one.unobserve(subscription)


class Reading:
    """The routes of the page and of its websocket, and what is open of them."""

    def __init__(self, serverapp: ServerApp, rights: GuestRights) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._shared = {
            "notebooks": Notebooks(partial(find_rooms, serverapp), serverapp.contents_manager),
            "rights": rights,
            "renderer": Renderer(),
        }

    def routes(self) -> list[Any]:
        """Return the routes."""
        return [
            (r"/portal/reading", ReadingPage, self._shared),
            (r"/portal/reading/(.+)", ReadingPage, self._shared),
            (
                r"/portal/reading-changes/(.+)",
                ReadingSocket,
                {**self._shared, "tasks": self._tasks},
            ),
        ]

    async def stop(self) -> None:
        """End what is open: a thread that reads a file ends with the task that first needed it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
