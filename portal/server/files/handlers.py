"""REST API `portal/api/uploads` and the archives of folders."""

import asyncio
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError

from portal.server.base.authorization import RouteArguments, for_the_user
from portal.server.base.chunks import ChunksHandler
from portal.server.base.preview import Preview, preview
from portal.server.base.rest import route
from portal.server.base.transfers import Transfers
from portal.server.files.archive import stream_archive
from portal.server.files.upload import Upload
from portal.settings.session_tables import SessionTables

_LEAST_BYTES = 256 * 1024


async def send_pieces(
    handler: JupyterHandler,
    pieces: Generator[bytes, None, None],
    name: str,
    note: Callable[[], None],
) -> None:
    """Send all that `pieces` yields, as fast as the browser takes it, then close `pieces`.

    If they fail, the connection is cut, so that the browser knows that the end is missing.

    Args:
        handler: Its headers are set.
        pieces: What is sent; made in threads.
        name: What it is, for the log.
        note: Called after each piece.
    """
    try:
        while piece := await asyncio.to_thread(_gather, pieces):
            handler.write(piece)
            # Waits until the browser has taken it.
            await handler.flush()
            note()
    except StreamClosedError:
        handler.log.info("The download of %s was given up", name)
    except Exception:
        handler.log.exception("The download of %s failed", name)
        # Tornado would finish the answer, and half an archive would look like a whole one.
        handler.detach().close()
    finally:
        await asyncio.to_thread(pieces.close)


def _gather(pieces: Iterator[bytes]) -> bytes:
    # Many small files make one piece: a piece needs a thread's turn.
    found: list[bytes] = []
    n_bytes = 0
    for piece in pieces:
        found.append(piece)
        n_bytes += len(piece)
        if n_bytes >= _LEAST_BYTES:
            break
    return b"".join(found)


async def local_path(handler: JupyterHandler) -> Path:
    """Return the file or folder that the argument `path` names, as Jupyter's file browser does.

    Raises:
        HTTPError: 404 if it is outside the file browser's root, or hidden.
    """
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


class UploadHandler(RouteArguments, ChunksHandler):
    """A file that is uploaded in chunks."""

    transfers: Transfers

    @for_the_user
    async def get(self) -> None:
        """Return what is there of it."""
        upload = await self._upload()
        # After a lost connection its last bytes may still be on their way to the disk.
        async with self.transfers.turn(upload.part):
            self.finish(asdict(await asyncio.to_thread(upload.state)))

    @for_the_user
    async def put(self) -> None:
        """Take the bytes from `offset` on: 200 and the next offset.

        Source:
            409 if they do not follow what has arrived, 412 if a file of this name is there and
            `replaces` is not 1, 413 if they are more than 64 MiB, 507 if the disk is full.
        """
        upload = await self._upload()
        chunk = self.read_chunk()
        self.transfers.note()

        def write() -> dict[str, Any]:
            return {"offset": upload.write(chunk.offset, chunk.content, replaces=chunk.replaces)}

        async with self.transfers.turn(upload.part):
            self.finish(await asyncio.to_thread(write))

    @for_the_user
    async def delete(self) -> None:
        """Remove what has arrived."""
        upload = await self._upload()
        async with self.transfers.turn(upload.part):
            await asyncio.to_thread(upload.remove)
        self.finish({})

    async def _upload(self) -> Upload:
        target = await local_path(self)
        if not target.name or not await asyncio.to_thread(target.parent.is_dir):
            raise HTTPError(404, "The folder no longer exists. Upload into another one.")
        if await asyncio.to_thread(target.is_dir):
            raise HTTPError(409, f"{target.name} is a folder. Rename it, or the file.")
        return Upload(target, self.read_number("size"), self.read_number("modified"))


class ArchiveHandler(RouteArguments, JupyterHandler):
    """A folder as a tar archive."""

    auth_resource = "contents"
    write_error = APIHandler.write_error

    transfers: Transfers

    @for_the_user
    async def get(self) -> None:
        """Send the folder `path` while it is read.

        Raises:
            HTTPError: 404 if it is not there or cannot be read.
        """
        folder = await local_path(self)
        pieces = stream_archive(folder, with_hidden=self.contents_manager.allow_hidden)
        try:
            piece = await asyncio.to_thread(next, pieces)
        except OSError as error:
            raise HTTPError(404, f"{folder.name} cannot be read: {error.strerror}.") from error
        name = quote(f"{folder.name or 'files'}.tar")
        self.set_header("Content-Type", "application/x-tar")
        self.set_header("Content-Disposition", f"attachment; filename*=utf-8''{name}")
        self.set_header("Cache-Control", "no-store")
        # Proxies such as nginx would collect it first.
        self.set_header("X-Accel-Buffering", "no")
        self.write(piece)
        await send_pieces(self, pieces, str(folder), self.transfers.note)


async def _preview(request: APIHandler) -> Preview:
    path = await local_path(request)
    return await asyncio.to_thread(preview, path)


def transfer_routes(settings: SessionTables, transfers: Transfers) -> list[Any]:
    """Return the routes that the site offers."""
    shared = {"transfers": transfers}
    uploads = [(r"/portal/api/uploads", UploadHandler, shared)]
    archives = [(r"/portal/api/archive", ArchiveHandler, shared)]
    previews = [route(r"/portal/api/preview", "contents", get=_preview)]
    return [
        *(previews if settings.files.previews else ()),
        *(uploads if settings.files.resumable_uploads else ()),
        *(archives if settings.files.offers_archives else ()),
    ]
