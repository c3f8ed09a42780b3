"""REST API `portal/api/uploads`, the archives of folders and previews."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from tornado.web import HTTPError

from portal.server.base.chunks import upload_route
from portal.server.base.download import Download, download_route
from portal.server.base.preview import Preview, preview
from portal.server.base.rest import Route, route
from portal.server.base.transfers import Transfers
from portal.server.files.archive import stream_archive
from portal.server.files.upload import Upload
from portal.settings.session_tables import SessionTables


async def local_path(handler: JupyterHandler) -> Path:
    """Return the file or folder that the argument `path` names, as Jupyter's file browser does."""
    contents = handler.contents_manager
    path = handler.get_query_argument("path").strip("/")
    # Jupyter refuses what leads out of its root.
    found = Path(contents._get_os_path(path))
    parts = [part for part in path.split("/") if part]
    is_hidden = any(part.startswith(".") for part in parts)
    is_hidden = is_hidden or await ensure_async(contents.is_hidden(path))
    if is_hidden and not contents.allow_hidden:
        raise HTTPError(404, f"{path} is hidden, and this site shows no hidden files.")
    return found


@asynccontextmanager
async def _upload(
    transfers: Transfers, request: APIHandler, size_bytes: int, modified_ms: int
) -> AsyncIterator[Upload]:
    target = await local_path(request)
    if not target.name or not await asyncio.to_thread(target.parent.is_dir):
        raise HTTPError(404, "The folder no longer exists. Upload into another one.")
    if await asyncio.to_thread(target.is_dir):
        raise HTTPError(409, f"{target.name} is a folder. Rename it, or the file.")
    upload = Upload(target, size_bytes, modified_ms)
    # After a lost connection its last bytes may still be on their way to the disk.
    async with transfers.turn(upload.part):
        yield upload


async def _archive(request: JupyterHandler) -> Download:
    folder = await local_path(request)
    return Download(
        name=f"{folder.name or 'files'}.tar",
        pieces=stream_archive(folder, with_hidden=request.contents_manager.allow_hidden),
        content_type="application/x-tar",
    )


async def _preview(request: APIHandler) -> Preview:
    path = await local_path(request)
    return await asyncio.to_thread(preview, path)


def transfer_routes(settings: SessionTables, transfers: Transfers) -> list[Route]:
    """Return the routes that the site offers."""
    note = transfers.note
    uploads = [upload_route(r"/portal/api/uploads", partial(_upload, transfers), note=note)]
    archives = [download_route(r"/portal/api/archive", _archive, note=note)]
    previews = [route(r"/portal/api/preview", "contents", get=_preview)]
    return [
        *(previews if settings.files.previews else ()),
        *(uploads if settings.files.resumable_uploads else ()),
        *(archives if settings.files.offers_archives else ()),
    ]
