"""When a TensorBoard counts as idle, on a clock that the test moves."""

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.server.viewers import pages
from portal.server.viewers.folder import Folder
from portal.server.viewers.pages import FolderPages
from portal.server.viewers.viewer import TENSORBOARD
from portal.settings.tensorboard import TensorBoardSettings

IDLE_S = 3600.0


def tensorboards() -> FolderPages:
    return FolderPages(
        TENSORBOARD,
        python="",
        limits=TensorBoardSettings(idle_minutes=IDLE_S / 60),
        root_dir="/",
        base_url="/",
        shared_dirs=(),
        private_dir=Path("/"),
        log=logging.getLogger("test"),
    )


class FakeProcess:
    """A TensorBoard that is looked at a few times, each time half of the idle time later."""

    def __init__(self, boards: FolderPages, n_uses: int) -> None:
        self.boards = boards
        self.n_uses_left = n_uses
        self.now = 0.0
        self.ended_at: float | None = None

    async def wait(self) -> int:
        if self.ended_at is not None:
            return 0
        self.now += IDLE_S / 2
        if self.n_uses_left:
            self.n_uses_left -= 1
            await self.boards.find_or_wake("board")
        raise TimeoutError


async def test_only_what_nobody_has_looked_at_for_the_idle_time_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    boards = tensorboards()
    process = FakeProcess(boards, n_uses=5)

    async def stop() -> None:
        process.ended_at = process.now

    class Board(SimpleNamespace):
        @property
        def is_running(self) -> bool:
            return process.ended_at is None

    board: Any = Board(id="board", process=process, stop=stop, logdirs=(), folders="logs")
    board.socket_path = Path("/nowhere/socket")

    async def start(*arguments: Any) -> Any:
        return board

    monkeypatch.setattr(pages, "time", SimpleNamespace(monotonic=lambda: process.now))
    boards._used_at["board"] = 0.0
    await boards._stop_when_idle(board)

    assert process.n_uses_left == 0
    assert process.ended_at == (5 / 2 + 1) * IDLE_S


async def test_a_tab_that_closes_ends_the_start_for_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    boards = tensorboards()
    is_up = asyncio.Event()

    async def ended() -> int:
        return 0

    board: Any = SimpleNamespace(id="board", is_running=False, folders="logs")
    board.process = SimpleNamespace(wait=ended)
    board.socket_path = Path("/nowhere/socket")

    async def start(*arguments: Any) -> Any:
        await is_up.wait()
        return board

    monkeypatch.setattr(boards, "_start", start)
    logdirs = (Folder(name="logs", path=Path("/logs")),)
    closed, other = (asyncio.ensure_future(boards._open(logdirs)) for _ in range(2))
    await asyncio.sleep(0)

    closed.cancel()
    await asyncio.wait([closed])
    is_up.set()

    assert await other is board
    assert closed.cancelled()
