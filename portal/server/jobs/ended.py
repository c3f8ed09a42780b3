"""The user's jobs of the last day that have ended, as accounting tells them."""

import asyncio
import os
import time
from collections.abc import Sequence

from dsportal.slurm.listing import new_nonce
from portal.server.jobs.jobs import ENDED
from spawner.client.command import query
from spawner.errors import SlurmError

# So often all jobs of the day are asked for; between that only the newest, since sacct takes
# seconds for many thousands.
WHOLE_S = 600.0
# slurmctld tells accounting some seconds later.
LATE_S = 120


class EndedJobs:
    """Asks accounting, and remembers what it has said."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._rows: dict[str, list[str]] = {}
        self._whole_at_s = -WHOLE_S
        self._heard_at_s = 0.0

    async def read(self) -> Sequence[list[str]]:
        """Return a row of `ENDED` for each job; those of the last answer if there is none now."""
        now_s = time.monotonic()
        is_whole = now_s - self._whole_at_s >= WHOLE_S
        since = "1days" if is_whole else f"{LATE_S + round(now_s - self._heard_at_s)}seconds"
        nonce = new_nonce()
        options = (*ENDED.options(nonce), f"--starttime=now-{since}", f"--uid={os.getuid()}")
        try:
            done = await query(("sacct", *options), timeout_s=self._timeout_s)
        except SlurmError:
            # Accounting may be down while the queue answers.
            return list(self._rows.values())
        rows = await asyncio.to_thread(
            lambda: {row[0]: row for row in ENDED.rows(done.stdout, nonce)}
        )
        self._rows = rows if is_whole else {**self._rows, **rows}
        self._heard_at_s = now_s
        self._whole_at_s = now_s if is_whole else self._whole_at_s
        return list(self._rows.values())
