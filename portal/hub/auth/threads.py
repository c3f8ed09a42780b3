"""Blocking work of a login in a thread, with a deadline."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


async def in_thread(threads: ThreadPoolExecutor, work: Callable[[], T], deadline_s: float) -> T:
    """Run blocking work in a thread of a pool, until `deadline_s` on the monotonic clock.

    After the deadline the thread goes on; only its result is dropped.

    Raises:
        asyncio.TimeoutError: If the work takes longer.
    """
    loop = asyncio.get_running_loop()
    timeout_s = deadline_s - time.monotonic()
    return await asyncio.wait_for(loop.run_in_executor(threads, work), timeout_s)
