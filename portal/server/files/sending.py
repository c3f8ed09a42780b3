"""An answer that is made while it is sent, and whose length nobody knows before its end."""

import asyncio
from collections.abc import Callable, Generator, Iterator

from jupyter_server.base.handlers import JupyterHandler
from tornado.iostream import StreamClosedError

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
