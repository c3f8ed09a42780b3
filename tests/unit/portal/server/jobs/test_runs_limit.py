"""The site's limit for the folders of runs is kept from the start of a session."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from portal.server.jobs.queue import JobQueue
from portal.server.jobs.runs import Runs
from portal.server.jobs.runs_limit import RunsLimit
from tests.support.told import tables


class TrimmedRuns(Runs):
    """Notes with what it is trimmed."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, JobQueue("", home))
        self.limits: list[tuple[int, int]] = []
        self.is_trimmed = asyncio.Event()

    async def trim(self, most_bytes: int, n_kept: int) -> list[str]:
        self.limits.append((most_bytes, n_kept))
        self.is_trimmed.set()
        raise OSError(5, "Input/output error")


def test_the_limit_is_applied_at_the_start_and_survives_a_home_that_fails(tmp_path: Path) -> None:
    async def use() -> list[tuple[int, int]]:
        runs = TrimmedRuns(tmp_path)
        settings = tables(runs={"most_gib": 2 / 1024, "newest_kept": 5})
        limit = RunsLimit(runs, settings, logging.getLogger("test"))
        limit.start()
        await asyncio.wait_for(runs.is_trimmed.wait(), timeout=30)
        await limit.stop()
        return runs.limits

    assert asyncio.run(use()) == [(2 * 1024 * 1024, 5)]


def test_without_a_limit_nothing_is_removed(tmp_path: Path) -> None:
    async def use() -> list[tuple[int, int]]:
        runs = TrimmedRuns(tmp_path)
        limit = RunsLimit(runs, tables(), logging.getLogger("test"))
        limit.start()
        await limit.stop()
        return runs.limits

    assert asyncio.run(use()) == []
