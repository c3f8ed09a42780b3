"""REST API `portal/api/s3`: the drive, its uploads and downloads, and the user's keys."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from jupyter_server.base.handlers import APIHandler, JupyterHandler, path_regex
from jupyter_server.services.contents.handlers import ContentsHandler
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError

from portal.server.base.authorization import RouteArguments, for_the_user
from portal.server.base.chunks import Chunk, ChunksHandler
from portal.server.base.preview import Preview, PreviewError, check_kind, preview
from portal.server.base.rest import Route, route
from portal.server.s3.contents import S3Contents, split
from portal.server.s3.errors import S3Error, S3KeysError, S3NotFoundError
from portal.server.s3.keys import Keys
from portal.server.s3.store import Entry, Store
from portal.server.s3.upload import S3Uploads

_MIB = 1024 * 1024
# Whoever looks at a file waits for all of it.
_MOST_BYTES = 512 * _MIB
_MOST_KEY = 4096


def preview_object(store: Store, bucket: str, key: str) -> Preview:
    """Return what is in a file of S3."""
    entry = store.look(bucket, key) if key else None
    if entry is None:
        raise S3NotFoundError("This file no longer exists. Reload the list.")
    check_kind(entry.name)
    if (entry.size_bytes or 0) > _MOST_BYTES:
        raise PreviewError(
            f"{entry.name} has {(entry.size_bytes or 0) // _MIB} MiB, and files of S3 with up to"
            f" {_MOST_BYTES // _MIB} MiB have a preview. Download it, or read it in a cell."
        )
    with tempfile.TemporaryDirectory(prefix="s3-preview-") as folder:
        path = Path(folder, entry.name)
        pieces = store.pieces(bucket, key, _MIB)
        try:
            with path.open("xb") as file:
                for piece in pieces:
                    file.write(piece)
        # Those of the connection are S3Error.
        except OSError as error:
            raise PreviewError(
                f"{entry.name} has no preview now: it cannot be kept in {tempfile.gettempdir()}"
                f" ({error.strerror}). Download it, or read it in a cell."
            ) from error
        finally:
            pieces.close()
        return preview(path)


class S3ContentsHandler(RouteArguments, ContentsHandler):
    """Jupyter's own handler of contents, on S3."""

    contents: S3Contents

    @property
    def contents_manager(self) -> S3Contents:
        """What Jupyter's methods ask."""
        return self.contents

    async def prepare(self) -> None:
        """Refuse a path that no program should follow.

        Raises:
            HTTPError: 404 for it.
        """
        await super().prepare()
        try:
            split(self.path_kwargs.get("path") or (self.path_args or [""])[0] or "")
        except S3Error as error:
            raise HTTPError(404, error.message) from error

    async def _finish_error(self, code: int, message: str) -> NoReturn:
        # Jupyter answers 404 with a text of its own that is no JSON, whatever the error said.
        told = sys.exception()
        raise told if isinstance(told, HTTPError) else HTTPError(code, message)


class S3FilesHandler(RouteArguments, JupyterHandler):
    """A file of S3, for downloads."""

    auth_resource = "contents"
    write_error = APIHandler.write_error

    store: Store
    note: Callable[[], None]

    @for_the_user
    async def get(self, path: str = "") -> None:
        """Send the file `path` while it is read from S3.

        Raises:
            HTTPError: 404 if it is not there, 403 for the keys, 502 if S3 does not answer.
        """
        bucket, key = split(path)
        entry = await self.store.run(lambda: self._look(bucket, key))
        pieces = self.store.pieces(bucket, key, _MIB)
        piece = await self.store.run(lambda: next(pieces, b""))
        # Never shown as a page: a file may hold a script.
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("Content-Disposition", f"attachment; filename*=utf-8''{quote(entry.name)}")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Length", str(entry.size_bytes))
        self.set_header("X-Accel-Buffering", "no")
        try:
            while piece:
                self.write(piece)
                await self.flush()
                self.note()
                piece = await self.store.run(lambda: next(pieces, b""))
        except StreamClosedError:
            self.log.info("The download of %s was given up", path)
        finally:
            await self.store.run(pieces.close)

    def _look(self, bucket: str, key: str) -> Entry:
        entry = self.store.look(bucket, key) if key else None
        if entry is None:
            raise HTTPError(404, f"{key or bucket} is not a file. Reload the list.")
        return entry


class S3UploadHandler(RouteArguments, ChunksHandler):
    """A file that is uploaded in chunks."""

    store: Store
    uploads: S3Uploads
    note: Callable[[], None]

    @for_the_user
    async def get(self) -> None:
        """Return what is there of it; of all bytes, only once S3 has the file."""
        place = self._place()

        def look() -> dict[str, Any]:
            upload = self.uploads.of(*place)
            return {
                "offset": 0 if upload is None else upload.arrived(),
                # A finished upload of this very file is not in its own way.
                "is_taken": upload is None and self.store.look(*place[:2]) is not None,
                "other_parts": [],
            }

        self.finish(await self.store.run(look))

    @for_the_user
    async def put(self) -> None:
        """Take the bytes from `offset` on: 200 and the next offset."""
        place, chunk = self._place(), self.read_chunk()
        self.note()
        self.finish(await self.store.run(lambda: {"offset": self._write(place, chunk)}))

    @for_the_user
    async def delete(self) -> None:
        """Give the upload up."""
        self.uploads.cancel(*self._place())
        self.finish({})

    def _write(self, place: tuple[str, str, int, int], chunk: Chunk) -> int:
        upload = self.uploads.of(*place)
        if upload is None or (chunk.offset == 0 and upload.is_over):
            if not chunk.replaces and self.store.look(*place[:2]) is not None:
                name = place[1].rpartition("/")[2]
                raise S3Error(f"{name} is already in this folder. Rename one of the two.")
            upload = self.uploads.begin(*place)
        return upload.feed(chunk.offset, chunk.content)

    def _place(self) -> tuple[str, str, int, int]:
        try:
            bucket, key = split(self.get_query_argument("path"))
        except S3Error as error:
            raise HTTPError(404, error.message) from error
        if not key:
            raise HTTPError(400, "Open a bucket first: files lie in buckets.")
        return bucket, key, self.read_number("size"), self.read_number("modified")


def keys_route(store: Store) -> Route:
    """Return the route of the user's keys: where they come from. None is ever sent back."""

    async def describe(_: APIHandler) -> dict[str, str]:
        source, problem = "entered" if store.entered else "file", ""
        try:
            if await store.run(store.keys) is None:
                source = "none"
        except S3KeysError as error:
            source, problem = "none", error.message
        return {"source": source, "problem": problem, "endpoint": store.endpoint}

    async def enter(request: APIHandler) -> dict[str, Any]:
        # Kept in memory, and only if S3 accepts them.
        keys = _read_keys(request)
        await store.run(lambda: store.try_keys(keys))
        store.entered = keys
        return {}

    def forget(_: APIHandler) -> dict[str, Any]:
        store.entered = None
        return {}

    return route(r"/portal/api/s3/keys", "contents", get=describe, put=enter, delete=forget)


def _read_keys(request: APIHandler) -> Keys:
    body = request.get_json_body()
    names = ("access_key_id", "secret_access_key", "session_token")
    texts = [body.get(name, "") if isinstance(body, dict) else None for name in names]
    if not all(isinstance(text, str) and len(text) <= _MOST_KEY for text in texts):
        raise HTTPError(400, "Give access_key_id and secret_access_key, both as text.")
    try:
        return Keys(**{name: str(text).strip() for name, text in zip(names, texts, strict=True)})
    except S3KeysError as error:
        raise HTTPError(400, error.message) from error


def s3_routes(store: Store, contents: S3Contents, uploads: S3Uploads, note: Any) -> list[Any]:
    """Return the routes of the drive; `note` is called with each piece of a file."""
    transfers = {"store": store, "note": note}
    return [
        (rf"/portal/api/s3/contents{path_regex}", S3ContentsHandler, {"contents": contents}),
        (rf"/portal/api/s3/files{path_regex}", S3FilesHandler, transfers),
        (r"/portal/api/s3/uploads", S3UploadHandler, {**transfers, "uploads": uploads}),
        keys_route(store),
    ]


def s3_preview_routes(store: Store) -> list[Route]:
    """Return the route of previews."""

    async def show(request: APIHandler) -> Preview:
        bucket, key = split(request.get_query_argument("path"))
        return await store.run(lambda: preview_object(store, bucket, key))

    return [route(r"/portal/api/s3/preview", "contents", get=show)]
