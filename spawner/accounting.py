"""What Slurm's accounting knows: how jobs ended, and what users may have."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from spawner.associations import QOS_ARGV, USERS_ARGV, Associations
from spawner.command import Completed
from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.jobs import SACCT_FORMAT, JobEnd, JobKey, new_mark, parse_sacct

_NO_ACCOUNTING = re.compile(
    r"accounting storage is disabled|not configured|supported accounting_storage", re.IGNORECASE
)


class Accounting:
    """Slurm's accounting, as the hub sees it.

    Args:
        query: Runs one of Slurm's commands, and raises `SlurmError` where it fails.
    """

    def __init__(self, query: Callable[[Sequence[str]], Awaitable[Completed]]) -> None:
        self._query = query

    async def read_ends(self, keys: Sequence[JobKey]) -> dict[JobKey, JobEnd] | None:
        """Return what accounting knows about jobs.

        Args:
            keys: The jobs.

        Returns:
            The last known state of each job that accounting knows; None where the cluster keeps
            no accounting.

        Raises:
            SlurmUnavailableError: If accounting did not answer.
        """
        if not keys:
            return {}
        mark = new_mark()
        argv = (
            "sacct",
            "--noheader",
            "--parsable2",
            f"--delimiter={mark}",
            "--allocations",
            "--jobs=" + ",".join(str(key.job_id) for key in keys),
            f"--format={SACCT_FORMAT}",
        )
        try:
            done = await self._query(argv)
        except SlurmError as error:
            if _NO_ACCOUNTING.search(error.stderr):
                return None
            raise SlurmUnavailableError(
                "Slurm's accounting did not answer. Try again in a minute.",
                argv=argv,
                exit_code=error.exit_code,
                stderr=error.stderr,
            ) from error
        ends = parse_sacct(done.stdout, mark)
        return {key: ends[key] for key in keys if key in ends}

    async def read_associations(self) -> Associations:
        """Return what accounting lets users have.

        Returns:
            All associations that the hub's account may see; none where there is no accounting.

        Raises:
            SlurmUnavailableError: If accounting did not answer.
            SlurmError: If sacctmgr failed or printed something else.
        """
        try:
            users = await self._query(USERS_ARGV)
            qos = await self._query(QOS_ARGV)
        except SlurmError as error:
            if _NO_ACCOUNTING.search(error.stderr):
                return Associations()
            raise
        return Associations.parse(users.stdout, qos.stdout)
