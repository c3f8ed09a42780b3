"""What every upload in chunks asks and answers, wherever its bytes go."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError

from dsportal.slurm.errors import PortalError
from portal.server.base.authorization import whole_number
from portal.server.base.rest import Route, route

_MIB = 1024 * 1024
_MOST_CHUNK_BYTES = 64 * _MIB


class UploadError(PortalError):
    """A file cannot be uploaded to this place."""

    http_status = 403


def upload_route(
    pattern: str,
    find: Callable[[APIHandler, int, int], AbstractAsyncContextManager[Any]],
    *,
    note: Callable[[], None],
    run: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread,
) -> Route:
    """Return the route of uploads to one kind of place.

    All requests have `path`, `size` in bytes and `modified` in ms of Unix time. PUT takes the bytes
    from `offset` on: 400 for a wrong number, 413 for more than 64 MiB.

    Args:
        find: Holds the upload that a request is about, by its size and time: an object with the
            methods `state`, `write` and `remove` of `portal.server.files.upload.Upload`.
        note: Called with each chunk.
        run: Calls a function in a thread.
    """

    def found(request: APIHandler) -> AbstractAsyncContextManager[Any]:
        return find(request, _number(request, "size"), _number(request, "modified"))

    async def look(request: APIHandler) -> Any:
        async with found(request) as upload:
            return await run(upload.state)

    async def take(request: APIHandler) -> dict[str, int]:
        content = request.request.body
        if len(content) > _MOST_CHUNK_BYTES:
            raise HTTPError(413, f"A chunk has at most {_MOST_CHUNK_BYTES} bytes.")
        offset = _number(request, "offset")
        replaces = request.get_query_argument("replaces", "") == "1"
        note()
        async with found(request) as upload:
            write = partial(upload.write, offset, content, replaces=replaces)
            return {"offset": await run(write)}

    async def remove(request: APIHandler) -> dict[str, Any]:
        async with found(request) as upload:
            # In no thread of `run`, which what is given up may hold.
            await asyncio.to_thread(upload.remove)
        return {}

    return route(pattern, "contents", get=look, put=take, delete=remove)


def _number(request: APIHandler, name: str) -> int:
    number = whole_number(request.get_query_argument(name), -1)
    if number < 0:
        raise HTTPError(400, f"{name} must be a whole number of 0 or more.")
    return number
