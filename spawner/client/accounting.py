"""Queries to Slurm's accounting: how jobs ended, what users held, and their limits."""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from dsportal.slurm.errors import OptionsError
from dsportal.slurm.listing import job_options, new_nonce
from dsportal.slurm.units import parse_memory
from dsportal.slurm.used import USED, JobUse, parse_uses
from spawner.cache import Cache
from spawner.client.budgets import read_budgets
from spawner.client.command import Completed
from spawner.client.visibility import CONFIG_ARGV, level_argv, parse_config, sees_all
from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.slurm.associations import QOS_ARGV, USERS_ARGV, Associations, of_cluster
from spawner.slurm.budgets import Budgets
from spawner.slurm.jobs import JobEnd, JobKey
from spawner.slurm.sacct import ALLOCATIONS, ENDS, Allocation, parse_allocations, parse_ends

_NO_ACCOUNTING = re.compile(
    r"accounting storage is disabled|not configured|supported accounting_storage", re.IGNORECASE
)
_MOMENT = "%Y-%m-%dT%H:%M:%S"
_DAY = timedelta(days=1)
# What is over stays as it is, but slurmdbd may hear of it later.
_PAST_DAY_AGE_S = 3600.0


class TooManyJobsError(SlurmUnavailableError):
    """sacct has not listed a user's jobs in time: for 100,000 it takes 6 to 8 s."""


class Accounting:
    """Queries to sacct and sacctmgr.

    Args:
        query: Runs a Slurm command; raises `SlurmError` if it fails.

    Attributes:
        is_kept: Whether the cluster keeps accounting, as of the last answer; True before the first.
    """

    def __init__(self, query: Callable[[Sequence[str]], Awaitable[Completed]]) -> None:
        self._query = query
        self.is_kept = True
        self._sees_all: bool | None = None
        # Since when a user's jobs are too many for one answer.
        self._days_since: dict[str, datetime] = {}
        self._past_days = Cache(self._read_span, fresh_s=_PAST_DAY_AGE_S)

    async def sees_all(self, account: str) -> bool:
        """Return whether an account's admin level lets it see all users' jobs, as last known.

        While accounting is away slurmctld, too, goes by the level that it has heard last.
        """
        argv = level_argv(account)
        try:
            self._sees_all = sees_all((await self._query(argv)).stdout)
        except SlurmError as error:
            if _NO_ACCOUNTING.search(error.stderr):
                return False
            if self._sees_all is None:
                raise SlurmUnavailableError(
                    "Slurm's accounting (slurmdbd) is not responding, so the portal does not know "
                    "whether it could follow your session (PrivateData). Running sessions are not "
                    "affected. Try again in a minute.",
                    argv=argv,
                    exit_code=error.exit_code,
                    stderr=error.stderr,
                ) from error
        return self._sees_all

    async def read_ends(self, keys: Sequence[JobKey]) -> dict[JobKey, JobEnd] | None:
        """Return the last known state of each job that accounting knows.

        Returns:
            None if the cluster keeps no accounting.
        """
        ends: dict[JobKey, JobEnd] = {}
        # With ids sacct looks at all times, without them only at jobs of today.
        for jobs in job_options([key.job_id for key in keys]):
            nonce = new_nonce()
            argv = ("sacct", *ENDS.options(nonce), jobs)
            try:
                done = await self._query(argv)
            except SlurmError as error:
                if _NO_ACCOUNTING.search(error.stderr):
                    self.is_kept = False
                    return None
                raise SlurmUnavailableError(
                    "Slurm's accounting is not responding. Try again in a minute.",
                    argv=argv,
                    exit_code=error.exit_code,
                    stderr=error.stderr,
                ) from error
            self.is_kept = True
            ends |= await asyncio.to_thread(parse_ends, done.stdout, nonce)
        return {key: ends[key] for key in keys if key in ends}

    async def read_peak_mib(self, key: JobKey) -> int | None:
        """Return the most memory that Slurm measured in a step of a job, in MiB.

        Returns:
            None if it has measured none, or accounting does not answer.

        Source:
            sacct(1), MaxRSS, and slurm.conf(5), JobAcctGatherFrequency, Slurm 22.05 to 25.11:
            measured every 30 s, and at the end of a step.
        """
        argv = ("sacct", "--noheader", "--parsable2", "--format=MaxRSS", f"--jobs={key.job_id}")
        try:
            words = (await self._query(argv)).stdout.split()
            return max((parse_memory(word) for word in words), default=None)
        except (SlurmError, OptionsError):
            return None

    async def read_uses(self, job_ids: tuple[int, ...]) -> dict[str, JobUse]:
        """Return what ended jobs used, by their ids as texts; some may be missing."""
        uses: dict[str, JobUse] = {}
        for jobs in job_options(job_ids):
            nonce = new_nonce()
            done = await self._query(("sacct", *USED.options_with_steps(nonce), jobs))
            uses |= await asyncio.to_thread(parse_uses, done.stdout, nonce)
        return uses

    async def read_used(self, key: JobKey) -> str:
        """Return what an ended job used, in sentences; "" if that is not known."""
        with contextlib.suppress(SlurmError):
            uses = await self.read_uses((key.job_id,))
            return uses[str(key.job_id)].sentences if str(key.job_id) in uses else ""
        return ""

    async def read_allocations(self, user: str, since: datetime) -> list[Allocation]:
        """Return the GPUs that all of a user's jobs held, and the user's sessions without a GPU.

        Args:
            since: Jobs that ended earlier are left out; Slurm's local time without a zone.

        Returns:
            One allocation for each of these jobs.
        """
        if self._days_since.get(user) != since:
            try:
                return list(await self._read_span(user, since, None))
            except TooManyJobsError:
                self._days_since[user] = since
        return await self._read_by_day(user, since)

    async def _read_by_day(self, user: str, since: datetime) -> list[Allocation]:
        n_days = (datetime.now() - since).days
        # The newest first, so that accounting that answers nothing is asked once.
        newest = await self._read_span(user, since + n_days * _DAY, None)
        days = [since + n * _DAY for n in range(n_days)]
        spans = [await self._past_days.get(user, day, day + _DAY) for day in days]
        # A job of several days is in each of them, and the last one knows most.
        return list(
            {(one.job_id, one.starts_at): one for span in (*spans, newest) for one in span}.values()
        )

    async def _read_span(
        self, user: str, since: datetime, until: datetime | None
    ) -> tuple[Allocation, ...]:
        nonce = new_nonce()
        argv = (
            # --duplicates: a job that was requeued held its GPUs in each of its runs.
            *("sacct", *ALLOCATIONS.options(nonce), "--duplicates"),
            f"--user={user}",
            f"--starttime={since:{_MOMENT}}",
            f"--endtime={until:{_MOMENT}}" if until else "--endtime=now",
        )
        try:
            done = await self._query(argv)
            return tuple(await asyncio.to_thread(parse_allocations, done.stdout, nonce))
        except SlurmError as error:
            known: dict[str, Any] = {
                "argv": argv,
                "exit_code": error.exit_code,
                "stderr": error.stderr,
            }
            if _NO_ACCOUNTING.search(error.stderr):
                raise SlurmError(
                    "This cluster keeps no accounting, so your GPU hours are not known.", **known
                ) from error
            is_slow = "gave no answer in" in error.stderr
            why = "did not list all your jobs in time" if is_slow else "is not responding"
            raise (TooManyJobsError if is_slow else SlurmUnavailableError)(
                f"Slurm's accounting {why}, so your GPU hours are not known now."
                " Sessions are not affected.",
                **known,
            ) from error

    async def read_budgets(self) -> Budgets:
        """Return the budgets of all users; with a `problem` if Slurm did not answer."""
        return await read_budgets(self._query)

    async def read_associations(self) -> Associations:
        """Return all associations that the hub's account may see; none without accounting."""
        here = of_cluster(parse_config((await self._query(CONFIG_ARGV)).stdout))
        try:
            # At once: each takes a third of a second, and who submits a job waits for it.
            users, qos = await asyncio.gather(
                self._query((*USERS_ARGV, here)), self._query(QOS_ARGV)
            )
        except SlurmError as error:
            if _NO_ACCOUNTING.search(error.stderr):
                return Associations()
            raise
        return await asyncio.to_thread(Associations.parse, users.stdout, qos.stdout)
