"""AsyncContentsManager: files that a user's browser, disk or names make hard.

* A name that is not UTF-8 is shown with a mark, since a browser cannot put it into an address:
  JupyterLab would say "URI malformed". Opening one answers what to do.
* A save on a full disk, or over a folder, answers what to do.
* Folders are deleted with all that is in them, as the file browser asks before; of a link to a
  folder only the link, which Jupyter would remove as a folder.
* Each file is read and written in a task that ends with it. Jupyter does it in threads of anyio,
  each of which ends with the task that first needed it: for a shared document, that is the task of
  its websocket, which nothing ends before the event loop stops, and the server stayed until it was
  killed.

The manager's class is the user's choice, as with jupytext, so the one that is there is changed.

Source:
    Jupyter Server 2.21.1, `AsyncContentsManager` and `AsyncFileContentsManager`; anyio 4.

Shown by:
    tests/unit/portal/server/patches/test_contents_manager.py
    tests/server/test_transfers.py
"""

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from jupyter_server.services.contents.manager import AsyncContentsManager
from tornado.web import HTTPError

from portal.server.patches.signature_store import causes, is_full
from spawner.patch import wrap

_Method = Callable[..., Any]
# Python's form of a byte that is not UTF-8 (PEP 383), and what stands for it in names.
_BYTE = re.compile("[\udc80-\udcff]")
_MARK = "\ufffd"


def change_contents(contents: AsyncContentsManager) -> None:
    """Change Jupyter's contents manager in place; one without coroutines is left alone."""
    if not asyncio.iscoroutinefunction(contents.save):
        return
    contents.always_delete_dir = True
    wrap(contents, "get", _marking)
    wrap(contents, "save", _explaining)
    wrap(contents, "delete_file", lambda original: _deleting(contents, original))


def _marking(original: _Method) -> _Method:
    async def get(path: str, *args: Any, **kwargs: Any) -> Any:
        try:
            model = await asyncio.create_task(original(path, *args, **kwargs))
        except HTTPError as error:
            if error.status_code != 404 or _MARK not in path:
                raise
            # To a 404 Jupyter gives words of its own, which JupyterLab does not show.
            raise HTTPError(400, _describe_unreadable(path)) from error
        listed = model.get("content") if model.get("type") == "directory" else None
        for entry in listed or ():
            for key in ("name", "path"):
                entry[key] = _BYTE.sub(_MARK, entry[key])
        return model

    return get


def _explaining(original: _Method) -> _Method:
    async def save(model: dict[str, Any], path: str = "") -> Any:
        try:
            return await asyncio.create_task(original(model, path))
        except (HTTPError, OSError) as error:
            if any(isinstance(cause, IsADirectoryError) for cause in causes(error)):
                where = f"{path} is" if path.strip("/") else "This is"
                raise HTTPError(400, f"{where} a folder. Save to a file in it.") from error
            if not is_full(error):
                raise
            raise HTTPError(507, describe_full(path), reason="Insufficient Storage") from error

    return save


def _deleting(manager: AsyncContentsManager, original: _Method) -> _Method:
    async def delete_file(path: str) -> None:
        try:
            await original(path)
        except OSError:
            # Python refuses to remove a link as a folder.
            if not await asyncio.to_thread(_unlink, manager._get_os_path(path.strip("/"))):
                raise

    return delete_file


def _unlink(path: str) -> bool:
    is_link = os.path.islink(path)
    if is_link:
        os.unlink(path)
    return is_link


def describe_full(path: str) -> str:
    """Return what to do about a file that could not be saved; `path` is Jupyter's."""
    return (
        f"{PurePosixPath(path).name} could not be saved: the disk of its folder is full. What you"
        " see is not lost while this page is open. Delete what you no longer need in the file"
        " browser, or in a terminal with rm: there is no trash, so the space is free at once."
        " 'du -sh ~/* ~/.[!.]*' shows what is large, often ~/.cache. Then save again."
    )


def _describe_unreadable(path: str) -> str:
    return (
        f"The name of {path.rpartition('/')[2]} is not UTF-8, so it cannot be opened here. Rename"
        " it in a terminal: type mv, a space, the beginning of the name, and the Tab key, then the"
        " new name."
    )
