"""Keeps the folders of runs below the size that the site allows."""

from __future__ import annotations

import asyncio
import logging

from portal.server.jobs.runs import Runs
from portal.settings.session_tables import SessionTables

EVERY_S = 3600.0
_MIB = 1024 * 1024


class RunsLimit:
    """Removes the oldest runs while the session runs.

    Args:
        runs: The user's runs.
        settings: What the hub told this session.
        log: Gets the names of what was removed.
    """

    def __init__(self, runs: Runs, settings: SessionTables, log: logging.Logger) -> None:
        self._runs = runs
        self._settings = settings
        self._log = log
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, if the site has a limit."""
        if self._settings.runs.most_mib:
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def stop(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            try:
                most_bytes = self._settings.runs.most_mib * _MIB
                removed = await self._runs.trim(most_bytes, self._settings.runs.newest_kept)
            except OSError as error:
                self._log.warning("The folders of runs cannot be read: %s", error)
            else:
                if removed:
                    self._log.info(
                        "Removed runs above the site's limit of %d MiB: %s",
                        self._settings.runs.most_mib,
                        ", ".join(removed),
                    )
            await asyncio.sleep(EVERY_S)
