"""jupyter_lsp: looks for language servers once a page asks for them.

It runs R and npm for it as the server starts: with R on the node, 0.20 s of CPU until the first
answer and 0.47 s in all, beside 1.15 s for everything else (medians of 20 starts, 2026-11-26). A
session that is used over ssh alone does without.

Source:
    jupyter_lsp 2.3.1, `serverextension.initialize` and `LanguageServerManager.ready`.

Shown by:
    tests/server/test_start.py
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from jupyter_lsp import serverextension

from spawner.patch import wrap


def look_when_asked() -> None:
    """Have nothing looked for at the start."""
    wrap(serverextension, "initialize", _later)


def _later(find: Callable[[Any, str], Awaitable[None]]) -> Callable[[Any, str], None]:
    def initialize(server: Any, folder: str) -> None:
        manager = server.language_server_manager
        wait = manager.ready
        found: list[asyncio.Future[None]] = []

        async def ready() -> bool:
            if not found:
                found.append(asyncio.ensure_future(find(server, folder)))
            # The second who asks waits, too; who gives up meanwhile takes nothing from the others.
            await asyncio.shield(found[0])
            return bool(await wait())

        manager.ready = ready

    return initialize
