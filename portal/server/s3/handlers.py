"""REST API `portal/api/s3`: the drive, its uploads and downloads, and the user's keys."""

import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from jupyter_server.base.handlers import APIHandler, JupyterHandler, path_regex
from jupyter_server.services.contents.handlers import ContentsHandler
from tornado.web import HTTPError

from portal.server.base.authorization import RouteArguments
from portal.server.base.chunks import upload_route
from portal.server.base.download import Download, download_route
from portal.server.base.preview import Preview, PreviewError, check_kind, preview
from portal.server.base.rest import Route, route
from portal.server.s3.contents import S3Contents, split
from portal.server.s3.errors import S3Error, S3KeysError, S3NotFoundError
from portal.server.s3.keys import Keys
from portal.server.s3.store import Store
from portal.server.s3.upload import Place, S3File, S3Upload

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
        """Refuse a path that no program should follow."""
        await super().prepare()
        try:
            split(self.path_kwargs.get("path") or (self.path_args or [""])[0] or "")
        except S3Error as error:
            raise HTTPError(404, error.message) from error

    async def _finish_error(self, code: int, message: str) -> NoReturn:
        # Jupyter answers 404 with a text of its own that is no JSON, whatever the error said.
        told = sys.exception()
        raise told if isinstance(told, HTTPError) else HTTPError(code, message)


async def _download(store: Store, _: JupyterHandler, path: str) -> Download:
    bucket, key = split(path)
    entry = await store.run(lambda: store.look(bucket, key)) if key else None
    if entry is None:
        raise HTTPError(404, f"{key or bucket} is not a file. Reload the list.")
    pieces = store.pieces(bucket, key, _MIB)
    return Download(name=entry.name, pieces=pieces, size_bytes=entry.size_bytes)


@asynccontextmanager
async def _upload(
    store: Store,
    known: dict[Place, S3Upload],
    request: APIHandler,
    size_bytes: int,
    modified_ms: int,
) -> AsyncIterator[S3File]:
    bucket, key = split(request.get_query_argument("path"))
    if not key:
        raise HTTPError(400, "Open a bucket first: files lie in buckets.")
    yield S3File(store, known, (bucket, key, size_bytes, modified_ms))


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


def s3_routes(
    store: Store, contents: S3Contents, uploads: dict[Place, S3Upload], note: Callable[[], None]
) -> list[Route]:
    """Return the routes of the drive; `note` is called with each piece of a file."""
    contents_route = rf"/portal/api/s3/contents{path_regex}"
    files_route = rf"/portal/api/s3/files{path_regex}"
    uploads_route = "/portal/api/s3/uploads"
    return [
        (contents_route, S3ContentsHandler, {"contents": contents}),
        download_route(files_route, partial(_download, store), note=note, run=store.run),
        upload_route(uploads_route, partial(_upload, store, uploads), note=note, run=store.run),
        keys_route(store),
    ]


def s3_preview_routes(store: Store) -> list[Route]:
    """Return the route of previews."""

    async def show(request: APIHandler) -> Preview:
        bucket, key = split(request.get_query_argument("path"))
        return await store.run(lambda: preview_object(store, bucket, key))

    return [route(r"/portal/api/s3/preview", "contents", get=show)]
