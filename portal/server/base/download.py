"""Downloads: files that are sent to the browser while they are read."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

from jupyter_server.base.handlers import APIHandler, JupyterHandler
from tornado.iostream import StreamClosedError

from portal.server.base.authorization import for_the_user
from portal.server.base.rest import Route

Run = Callable[[Callable[[], bytes | None]], Awaitable[bytes | None]]
_LEAST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """What is sent.

    Attributes:
        name: Of the file that the browser makes.
        pieces: Made in threads, as fast as the browser takes them, and closed at the end.
        size_bytes: Of all; None if nobody knows.
    """

    name: str
    pieces: Generator[bytes, None, None]
    content_type: str = "application/octet-stream"
    size_bytes: int | None = None


def download_route(
    pattern: str,
    find: Callable[..., Awaitable[Download]],
    *,
    note: Callable[[], None],
    run: Run = asyncio.to_thread,
) -> Route:
    """Return a route that sends what `find` returns, which gets the request and the groups.

    Args:
        note: Called after each piece.
        run: Calls a function in a thread.
    """

    async def get(handler: JupyterHandler, *args: str, **groups: str) -> None:
        await send(handler, await find(handler, *args, **groups), note=note, run=run)

    members = {
        "auth_resource": "contents",
        "write_error": APIHandler.write_error,
        "get": for_the_user(get),
    }
    return pattern, type("DownloadHandler", (JupyterHandler,), members)


async def send(
    handler: JupyterHandler,
    found: Download,
    *,
    note: Callable[[], None],
    run: Run = asyncio.to_thread,
) -> None:
    """Answer the request of `handler` with a file; errors before its first piece are raised.

    If pieces fail later, the connection is cut, so that the browser knows that the end is missing.
    """
    take = partial(_gather, found.pieces)
    piece = await run(take)
    handler.set_header("Content-Type", found.content_type)
    name = quote(found.name)
    handler.set_header("Content-Disposition", f"attachment; filename*=utf-8''{name}")
    # Never shown as a page: a file may hold a script.
    handler.set_header("X-Content-Type-Options", "nosniff")
    handler.set_header("Cache-Control", "no-store")
    # Proxies such as nginx would collect it first.
    handler.set_header("X-Accel-Buffering", "no")
    if found.size_bytes is not None:
        handler.set_header("Content-Length", str(found.size_bytes))
    try:
        while piece:
            handler.write(piece)
            # Waits until the browser has taken it.
            await handler.flush()
            note()
            piece = await run(take)
    except StreamClosedError:
        handler.log.info("The download of %s was given up", found.name)
    except Exception:
        handler.log.exception("The download of %s failed", found.name)
        # Tornado would finish the answer, and half an archive would look like a whole one.
        handler.detach().close()
    finally:
        await run(found.pieces.close)


def _gather(pieces: Generator[bytes, None, None]) -> bytes:
    # Many small files make one piece: a piece needs a thread's turn.
    found: list[bytes] = []
    n_bytes = 0
    for piece in pieces:
        found.append(piece)
        n_bytes += len(piece)
        if n_bytes >= _LEAST_BYTES:
            break
    return b"".join(found)
