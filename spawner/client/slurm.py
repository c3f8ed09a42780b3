"""The only interface to Slurm: queries run as the hub, everything else as the user."""

import asyncio
import contextlib
import os
import pwd
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from dsportal.slurm.listing import NO_SUCH_JOB, job_options, new_nonce
from dsportal.slurm.states import JobState, Phase
from spawner.client import visibility
from spawner.client.accounting import Accounting
from spawner.client.command import FIRST_CLUSTER, PATH, ClusterAddress, Completed, query
from spawner.client.launcher_client import LauncherClient
from spawner.client.preflight import OnFailure, Preflight
from spawner.client.shared_answers import SharedAnswers
from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.metrics import timed_call
from spawner.settings.slurm import SlurmSettings
from spawner.slurm.catalog import SINFO_ARGV, Catalog
from spawner.slurm.cluster_jobs import CLUSTER_JOBS, CLUSTER_JOBS_STATES, ClusterJobs
from spawner.slurm.job_script import Job
from spawner.slurm.jobs import NAME_PREFIX, JobEnd, JobKey, JobRecord, match_job
from spawner.slurm.scontrol import (
    RESERVATIONS_ARGV,
    Reservation,
    parse_reservations,
    parse_scontrol_job,
)
from spawner.slurm.squeue import (
    GPUS_IN_USE_ARGV,
    QUEUE,
    RECORDS,
    GpusInUse,
    QueuedJob,
    parse_gpus_in_use,
    parse_queue,
    parse_records,
)

T = TypeVar("T")

_TIMEOUT_S = SlurmSettings().timeout_s
_NO_PREFLIGHT = Preflight(home=OnFailure.OFF, server=OnFailure.OFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedJob:
    """A job that Slurm has accepted.

    Attributes:
        job_id: Slurm's job id.
        warnings: Faults that the preflight found but that do not prevent the job, a sentence each.
    """

    job_id: int
    warnings: tuple[str, ...] = ()


class Slurm:
    """Slurm's commands, as the hub uses them.

    Each raises SlurmUnavailableError if Slurm did not answer, SlurmError if the command failed or
    printed something else.

    Args:
        launcher_argv: The launcher as the sudoers file names it.
        sudo_argv: sudo and its options, up to the user's name.
        answers_dir: Folder of the answers that other hubs read, too; None without other hubs.
    """

    def __init__(
        self,
        *,
        launcher_argv: Sequence[str],
        sudo_argv: Sequence[str],
        address: ClusterAddress = FIRST_CLUSTER,
        timeout_s: float = _TIMEOUT_S,
        path: str = PATH,
        answers_dir: Path | None = None,
    ) -> None:
        self.address = address
        self.launcher = LauncherClient(
            launcher_argv=launcher_argv, sudo_argv=sudo_argv, path=path, cluster=address.name
        )
        self._timeout_s = timeout_s
        self._path = path
        self._answers = SharedAnswers(answers_dir, self.ask) if answers_dir else None
        self.accounting = Accounting(self._query)

    async def read_catalog(self) -> Catalog:
        """Return the partitions, nodes and GPUs of the cluster."""
        return await self._read(SINFO_ARGV, Catalog.parse)

    async def read_reservations(self) -> Mapping[str, Reservation]:
        """Return the current reservations, by name."""
        return await self._read(RESERVATIONS_ARGV, parse_reservations)

    async def read_config(self) -> dict[str, str]:
        """Return slurmctld's configuration, by key."""
        return visibility.parse_config((await self._query(visibility.CONFIG_ARGV)).stdout)

    async def read_clock_ahead_s(self) -> float | None:
        """Return how many seconds this host's clock is ahead of slurmctld's, 0 if they may agree.

        Returns:
            Negative if it is behind; None if Slurm does not say.
        """
        # Without a zone, as Slurm prints its own time.
        asked_at = datetime.now()
        # Asked for itself: the time in an answer that another hub had is a past one.
        theirs = visibility.parse_clock((await self.ask(visibility.CONFIG_ARGV)).stdout)
        return None if theirs is None else visibility.ahead_s(theirs, asked_at, datetime.now())

    async def explain_hidden(self) -> str:
        """Return why the hub cannot see all jobs and nodes.

        Returns:
            Sentences for users and administrators; empty if it sees everything.
        """
        hidden = visibility.parse_hidden((await self._query(visibility.CONFIG_ARGV)).stdout)
        if not hidden:
            return ""
        account = pwd.getpwuid(os.getuid()).pw_name
        try:
            sees_all = await self.accounting.sees_all(account)
        except SlurmUnavailableError:
            # slurmctld knows the level without accounting: it shows jobs of others, or does not.
            sees_all = bool((await self.list_cluster_jobs()).users - {account})
            if not sees_all:
                raise
        return "" if sees_all else visibility.explain_hidden(hidden, account)

    async def list_jobs(self, job_ids: Sequence[int]) -> list[JobRecord]:
        """Return those of the jobs that slurmctld still remembers, ended ones too."""
        return [job for option in job_options(job_ids) for job in await self._squeue(option)]

    async def find_jobs(self, *, name: str = "") -> list[JobRecord]:
        """Return jobs that slurmctld remembers, of a name or of all sessions, ended ones too."""
        return await (self._squeue(f"--name={name}") if name else self._squeue(prefix=NAME_PREFIX))

    async def list_queue(self) -> list[QueuedJob]:
        """Return all users' jobs that compete for a start."""
        nonce = new_nonce()
        argv = ("squeue", "--all", "--states=PENDING", *QUEUE.options(nonce))
        return await self._read(argv, partial(parse_queue, nonce=nonce))

    async def list_gpus_in_use(self) -> list[GpusInUse]:
        """Return the GPUs that running jobs hold."""
        return await self._read(GPUS_IN_USE_ARGV, parse_gpus_in_use)

    async def list_cluster_jobs(self) -> ClusterJobs:
        """Return all users' jobs that run or wait."""
        nonce = new_nonce()
        argv = ("squeue", "--all", CLUSTER_JOBS_STATES, *CLUSTER_JOBS.options(nonce))
        return await self._read(argv, partial(ClusterJobs.parse, nonce=nonce))

    async def read_end(self, key: JobKey) -> JobEnd | None:
        """Return the last state of a job with exit code and reason.

        slurmctld's memory comes first, then accounting.

        Returns:
            None if neither knows the job.
        """
        known: JobEnd | None = None
        try:
            # First, since accounting can lag behind slurmctld.
            done = await self._query(("scontrol", "--oneliner", "show", "job", str(key.job_id)))
            known = parse_scontrol_job(done.stdout).get(key)
        except SlurmError as error:
            if NO_SUCH_JOB not in error.stderr:
                raise
        if known is not None and known.state is not JobState.CANCELLED:
            return known
        # Only accounting says who cancelled a job.
        with contextlib.suppress(SlurmUnavailableError):
            accounted = (await self.accounting.read_ends([key]) or {}).get(key)
            # A record that lags behind may still say that the job runs.
            if accounted is not None and (known is None or accounted.state is known.state):
                return accounted
        return known

    async def submit(
        self,
        user: str,
        job: Job,
        environment: Mapping[str, str],
        *,
        preflight: Preflight | None = None,
    ) -> AcceptedJob:
        """Submit a job as a user, after checking the user's storage.

        Args:
            preflight: Checks that run first, as the user; None for none.

        Returns:
            The job id and the warnings of the preflight.

        Raises:
            PreflightError: If the preflight found what the site refuses; there is no job then.
            JobRejectedError: If sbatch refused it.
            SlurmUnavailableError: If Slurm did not answer; the job may exist all the same.
        """
        look = preflight or _NO_PREFLIGHT
        answer = await self.launcher.order(
            user,
            {
                "verb": "submit",
                "arguments": list(job.argv),
                "script": job.script,
                "environment": dict(environment),
                "keeps_log": job.keeps_log,
                # Only rescue sessions keep no log in the home.
                **look.request_json(is_rescue=not job.keeps_log),
            },
        )
        warnings = look.assess(answer.get("checks", {}))
        return AcceptedJob(job_id=int(answer["job_id"]), warnings=tuple(warnings))

    async def test_submit(self, user: str, job: Job) -> str:
        """Return what sbatch --test-only prints on standard error: when the job would start."""
        # Its time is printed in the zone of this process; sudo passes no variable on.
        zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
        request = {"arguments": list(job.argv), "script": job.script, "environment": zone}
        answer = await self.launcher.order(user, {"verb": "forecast", **request})
        return str(answer["stderr"])

    async def cancel(self, key: JobKey) -> bool:
        """Cancel a job as its user.

        Args:
            key: Nothing is done if its id belongs to another job by now.

        Returns:
            False if there is no such job any more.
        """
        answer = await self.launcher.order(
            key.user, {"verb": "cancel", "job_id": key.job_id, "job_name": key.name}
        )
        if answer["found"]:
            return True
        record = match_job(key, await self.list_jobs([key.job_id]))
        if record is not None and record.state.phase is not Phase.OVER:
            raise SlurmError(
                f"Job {key.job_id} is not over, but Slurm does not show it as a job of {key.user}, "
                "whose uid may have changed since it was submitted. Ask the administrators to "
                f"cancel it: scancel {key.job_id}"
            )
        return False

    async def read_log(self, key: JobKey) -> str:
        """Return the end of a job's log as the job wrote it, 64 KiB; empty if there is no log."""
        answer = await self.launcher.ask(key.user, {"verb": "log_tail", "job_id": key.job_id})
        return str(answer.get("text", ""))

    async def _squeue(self, *filters: str, prefix: str = "") -> list[JobRecord]:
        nonce = new_nonce()
        # Without --all, jobs in partitions that are hidden or closed to the hub are left out.
        argv = ("squeue", "--all", "--states=all", *RECORDS.options(nonce), *filters)
        try:
            return await self._read(argv, partial(parse_records, nonce=nonce, prefix=prefix))
        except SlurmError as error:
            # squeue fails for a single id that Slurm has forgotten; for several it does not.
            if NO_SUCH_JOB not in error.stderr:
                raise
            return []

    async def _read(self, argv: Sequence[str], parse: Callable[[str], T]) -> T:
        done = await self._query(argv)
        # The output of a large cluster takes up to half a second, which pages must not wait for.
        return await asyncio.to_thread(parse, done.stdout)

    async def _query(self, argv: Sequence[str]) -> Completed:
        return await (self._answers.query if self._answers else self.ask)(argv)

    async def ask(self, argv: Sequence[str]) -> Completed:
        """Return what a command prints now, which other hubs do not share."""
        with timed_call(argv[0], self.address.name):
            conf = self.address.slurm_conf
            return await query(argv, timeout_s=self._timeout_s, path=self._path, slurm_conf=conf)
