"""slurmrestd, where a site runs one: all jobs in one answer, without starting a program."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tornado.httpclient import AsyncHTTPClient, HTTPClientError
from tornado.netutil import Resolver
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from spawner.command import NO_ANSWER_TEXT
from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.jobs import JobKey, JobRecord
from spawner.states import JobState, parse_state

if TYPE_CHECKING:
    from spawner.slurm import Slurm
    from spawner.traits import SiteTraits

ListJobs = Callable[[Sequence[int]], Awaitable[list[JobRecord]]]
# Newer releases give the state and its flags as a list; squeue shows the flag.
_FLAGS = ("COMPLETING", "CONFIGURING", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT", "REQUEUED")
_MOST_BYTES = 512 * 2**20


class Slurmrestd:
    """Asks slurmrestd about jobs, through its unix socket.

    It runs as the hub's own account with rest_auth/local, so that nothing secret is sent.

    Args:
        socket_path: Path of the socket.
        version: Release of its interface, for example "v0.0.38".
        timeout_s: Seconds after which a question is given up.

    Source:
        slurmrestd(8), Slurm 22.05 to 25.11; with slurmctld away, 22.05.8 answered after 9 s with an
        empty list of jobs and "errors" filled.
    """

    def __init__(self, socket_path: str, *, version: str, timeout_s: float) -> None:
        self._url = f"http://localhost/slurm/{version}/jobs"
        self._timeout_s = timeout_s
        self._client: AsyncHTTPClient = SimpleAsyncHTTPClient(
            force_instance=True,
            resolver=_UnixResolver(path=socket_path),
            max_buffer_size=_MOST_BYTES,
        )

    async def list_jobs(self, job_ids: Sequence[int]) -> list[JobRecord]:
        """Return those of the jobs that Slurm still holds in memory, ended ones too.

        Args:
            job_ids: Slurm's ids; none gives an empty list without asking.

        Returns:
            A record for each job; a job that Slurm has forgotten has none.

        Raises:
            SlurmUnavailableError: If slurmrestd or slurmctld did not answer.
            SlurmError: If the answer cannot be read.
        """
        if not job_ids:
            return []
        try:
            answer = await self._client.fetch(
                self._url, connect_timeout=self._timeout_s, request_timeout=self._timeout_s
            )
        except (HTTPClientError, OSError) as error:
            raise SlurmUnavailableError(
                NO_ANSWER_TEXT, argv=("slurmrestd", self._url), stderr=str(error)
            ) from error
        wanted = set(job_ids)
        return [job for job in parse_jobs(answer.body) if job.key.job_id in wanted]


def jobs_source(slurm: Slurm, traits: SiteTraits, log: logging.Logger) -> ListJobs:
    """Return what the watcher asks about jobs.

    Args:
        slurm: Runs squeue.
        traits: The operator's settings; they may name slurmrestd's socket.
        log: Where it is told that slurmrestd does not answer.

    Returns:
        squeue; or slurmrestd, and squeue for as long as that does not answer.
    """
    if not traits.slurmrestd_socket:
        return slurm.list_jobs
    rest = Slurmrestd(
        traits.slurmrestd_socket,
        version=traits.slurmrestd_version,
        timeout_s=traits.slurm_timeout_s,
    )
    is_silent = False

    async def list_jobs(job_ids: Sequence[int]) -> list[JobRecord]:
        nonlocal is_silent
        try:
            records = await rest.list_jobs(job_ids)
        except SlurmError as error:
            if not is_silent:
                log.warning("slurmrestd does not answer, squeue is asked: %s", error.stderr)
            is_silent = True
            return await slurm.list_jobs(job_ids)
        is_silent = False
        return records

    return list_jobs


def parse_jobs(body: bytes) -> list[JobRecord]:
    """Return the jobs in an answer of slurmrestd.

    Args:
        body: JSON.

    Returns:
        One record a job; what is no job is left out.

    Raises:
        SlurmUnavailableError: If slurmrestd reports an error: then its list says nothing.
        SlurmError: If it is something else.

    Source:
        slurmrestd of 22.05 (v0.0.38) and the OpenAPI descriptions up to v0.0.44.
    """
    argv = ("slurmrestd", "jobs")
    try:
        answer = json.loads(body)
        errors, jobs = answer["errors"], answer["jobs"]
    except (ValueError, KeyError, TypeError) as error:
        raise SlurmError(
            "slurmrestd's answer cannot be read. "
            "Ask the administrators to check its release and the setting slurmrestd_version.",
            argv=argv,
            stderr=repr(body[:200]),
        ) from error
    if errors:
        raise SlurmUnavailableError(NO_ANSWER_TEXT, argv=argv, stderr=json.dumps(errors)[:500])
    now_s = _number(answer.get("last_update")) or round(time.time())
    return [_parse_job(job, now_s) for job in jobs if isinstance(job, dict) and "job_id" in job]


def _parse_job(job: Mapping[str, Any], now_s: int) -> JobRecord:
    end_s = _number(job.get("end_time"))
    return JobRecord(
        key=JobKey(
            job_id=int(job["job_id"]),
            user=str(job.get("user_name", "")),
            name=str(job.get("name", "")),
        ),
        state=_parse_state(job.get("job_state")),
        node=str(job.get("batch_host") or ""),
        starts_at=_parse_time(job.get("start_time")),
        ends_at=_parse_time(job.get("end_time")),
        left_s=max(0, end_s - now_s) if end_s else None,
        comment=str(job.get("comment") or ""),
        reason=str(job.get("state_reason") or ""),
    )


def _parse_state(value: object) -> JobState:
    if isinstance(value, list):
        names = [str(name) for name in value]
        value = next((flag for flag in _FLAGS if flag in names), names[0] if names else "")
    return parse_state(str(value))


def _number(value: object) -> int:
    # Newer releases write {"set": true, "infinite": false, "number": 1795249542}.
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") else 0
    return value if type(value) is int and value > 0 else 0


def _parse_time(value: object) -> str:
    seconds = _number(value)
    if not seconds:
        return ""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%dT%H:%M:%S")


class _UnixResolver(Resolver):
    """Leads every name to one socket."""

    def initialize(self, path: str) -> None:
        self._path = path

    async def resolve(
        self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[tuple[int, Any]]:
        return [(socket.AF_UNIX, self._path)]
