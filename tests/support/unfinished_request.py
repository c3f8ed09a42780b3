"""A server extension whose task still waits when the server ends, as an unfinished request does."""

import asyncio
import time
from typing import Any

import anyio.to_thread

_tasks: list[asyncio.Task[None]] = []


async def _wait_after_a_thread() -> None:
    # AnyIO ends the thread with this task, which never ends.
    await anyio.to_thread.run_sync(time.time)
    await asyncio.Event().wait()


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "tests.support.unfinished_request"}]


def _load_jupyter_server_extension(serverapp: Any) -> None:
    def begin() -> None:
        _tasks.append(asyncio.ensure_future(_wait_after_a_thread()))

    serverapp.io_loop.add_callback(begin)
