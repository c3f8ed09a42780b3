"""A spawner for tests of the pages: the page side of SlurmGPUSpawner, with a cluster set by hand.

Its server is a process on this host that answers and does nothing else; how sessions become Slurm
jobs is tested with the real spawner. tests/unit/tests/hub/test_stand_in_spawner.py holds the
stand-in to what the real one offers the pages.
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jupyterhub.spawner import SimpleLocalProcessSpawner
from traitlets import Unicode, default

from dsportal.slurm.errors import PortalError
from dsportal.slurm.states import JobState
from dsportal.slurm.used import JobUse
from spawner.cache import Cache
from spawner.errors import SlurmUnavailableError
from spawner.forecast.accuracy import Accuracy
from spawner.forecast.forecaster import Forecast
from spawner.options.job_options import JobOptions
from spawner.options.limit_messages import OwnedLimits
from spawner.options.limits import Limits
from spawner.options.offer import Offer, read_limits
from spawner.options.request import normal_form
from spawner.options.traits import SiteTraits, traits_on
from spawner.session.progress import Fact, Progress
from spawner.session.session import Session
from spawner.session.session_end import JobEndedError, SessionEnd
from spawner.session.spawn_error import StartFailedError
from spawner.slurm.associations import AssociationLimits
from spawner.slurm.catalog import Catalog
from spawner.slurm.cluster_jobs import ClusterJobs
from spawner.slurm.jobs import JobEnd, JobKey, JobRecord
from spawner.slurm.sacct import Allocation
from spawner.slurm.scontrol import Reservation
from spawner.space import Space

SERVER = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("X-JupyterHub-Version", "6.1.1")
        self.end_headers()
        self.wfile.write(b"a notebook server")
HTTPServer(("127.0.0.1", int(os.environ["STAND_IN_PORT"])), Answer).serve_forever()
"""

LOG_LINES = "line 1\nKilled <process>"
NEXT_STEP = "Start again; Slurm takes another node."
STEPS = [
    ("submitted", 10, "Job 4711 was submitted, with 2 simulated GPUs."),
    ("queued", 30, "All GPUs of this size are taken. The job starts when one is free."),
    ("running", 60, "Job 4711 is running on node01 with 2 simulated GPUs."),
    ("starting", 80, "The notebook server is starting on node01."),
]


class Cluster:
    """What the stand-in reads from the file that STAND_IN_CLUSTER names; tests write it."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.jobs = Cache(self._read_jobs, fresh_s=0.0)
        self.allocations = Cache(self._read_allocations, fresh_s=0.0)
        self.uses = Cache(self._read_uses, fresh_s=0.0)
        self.spaces = SimpleNamespace(get_within=self._read_spaces)

    def __getattr__(self, name: str) -> Any:
        return json.loads(Path(os.environ["STAND_IN_CLUSTER"]).read_text())[name]

    @property
    def forecasts(self) -> Any:
        return SimpleNamespace(accuracy=Accuracy(**self.accuracy) if self.accuracy else None)

    async def _read_jobs(self) -> ClusterJobs:
        if self.slurm_is_down:
            raise SlurmUnavailableError("Slurm does not answer.")
        # With blanks between the fields, as is read best.
        lines = (line.split(maxsplit=9) for line in self.squeue.splitlines())
        return ClusterJobs.parse("".join(f"{'|'.join(line)}\n" for line in lines), "|")

    async def latest_jobs(self, *, patience_s: float) -> ClusterJobs:
        with contextlib.suppress(SlurmUnavailableError):
            return await self.jobs.get()
        return ClusterJobs()

    async def _read_allocations(self, user: str, since: datetime) -> list[Allocation]:
        if self.accounting_is_down:
            raise SlurmUnavailableError("Slurm's accounting does not answer.")
        now = datetime.now()
        held = timedelta(hours=self.gpu_hours)
        jobs = [Allocation(starts_at=now - held, ends_at=now, n_gpus=1)]
        return jobs + [_past_session(now, **one) for one in self.past_sessions]

    async def _read_uses(self, job_ids: tuple[int, ...]) -> Mapping[str, JobUse]:
        return {str(n): JobUse(elapsed_s=3600, n_cores=8, cpu_s=7200) for n in job_ids}

    async def _read_spaces(
        self, patience_s: float, user: str, folders: tuple[str, ...]
    ) -> dict[str, Space | None] | None:
        percents = self.used_percent
        if percents is None:
            return None
        return {
            folder: None
            if used is None
            else Space(total_bytes=100 * 2**30, used_bytes=used * 2**30)
            for folder, used in zip(folders, percents, strict=True)
        }


def _past_session(now: datetime, *, days_ago: int, hours: float, state: str) -> Allocation:
    starts_at = now - timedelta(days=days_ago)
    return Allocation(
        starts_at=starts_at,
        ends_at=starts_at + timedelta(hours=hours),
        n_gpus=2,
        state=JobState[state],
        is_session=True,
    )


class StandInOffer:
    """What may be asked of the cluster."""

    def __init__(self, spawner: Any, cluster: str) -> None:
        self.traits = traits_on(spawner, cluster)
        self.cluster = Cluster(cluster)

    @property
    def title(self) -> str:
        return str(self.traits.slurm_title)

    @property
    def limits(self) -> Limits:
        return read_limits(self.traits)

    async def read_reservations(self) -> Mapping[str, Reservation]:
        return {}

    def owned_limits(self, options: JobOptions) -> OwnedLimits:
        ceiling = AssociationLimits(max_gpus=self.cluster.max_gpus, of="the account research")
        is_known = ceiling.max_gpus and not self.cluster.accounting_is_slow
        own = self.limits.under(ceiling) if is_known else self.limits
        return OwnedLimits(site=self.limits, groups=self.limits, own=own)

    async def knows_limits(self, patience_s: float) -> bool:
        return not self.cluster.accounting_is_slow

    async def describe_budgets(self, patience_s: float) -> tuple[str, ...]:
        return tuple(self.cluster.budgets)

    def account_of(self, options: JobOptions) -> str | None:
        return None

    async def forecast(self, user_options: Mapping[str, object]) -> Forecast | None:
        minutes = self.cluster.forecast_min.get(user_options["gpus"])
        if minutes is None:
            return None
        now = datetime.now().astimezone()
        return Forecast(answer=now + timedelta(minutes=minutes), made_at=now)

    async def read_catalog(self) -> Catalog:
        if self.cluster.slurm_is_down:
            raise SlurmUnavailableError("Slurm does not answer, so no session can be started.")
        await asyncio.sleep(self.cluster.slurm_answers_after_s)
        return Catalog.parse(self.cluster.sinfo_volta if self.cluster.name else self.cluster.sinfo)


class StandInSpawner(SiteTraits, SimpleLocalProcessSpawner):
    """Offers what a file says, starts when a file says so."""

    default_url = Unicode("/")

    cluster = Cluster()
    start_progress = Progress()
    session: Session | None = None
    job_record: JobRecord | None = None
    left_s: int | None = None
    is_suspended = False
    has_other_authority = False
    most_gpus = 4
    # The settings name none, and these are traits of batchspawner's.
    req_account = req_partition = req_qos = ""

    @property
    def ending(self) -> SessionEnd | None:
        message = self.cluster.ending
        error = end_of_job(message, JobState[self.cluster.end_state])
        return SessionEnd(at=time.time(), error=error, log_lines=LOG_LINES) if message else None

    def on(self, cluster: str) -> Any:
        return StandInOffer(self, cluster)

    def offered_cluster(self, name: object) -> str:
        return name if isinstance(name, str) and name in self.clusters else ""

    def all_clusters(self) -> Any:
        return iter([self.cluster])

    @default("options_from_form")
    def _options_from_form_default(self) -> Any:
        return normal_form

    @default("apply_user_options")
    def _apply_user_options_default(self) -> Any:
        return take_options

    async def start(self) -> Any:
        self.start_progress = Progress()
        while (step := self.cluster.step) < len(STEPS):
            self._tell(step)
            if self.cluster.failure:
                error = end_of_job(self.cluster.failure, JobState[self.cluster.end_state])
                raise StartFailedError(error, log_lines=LOG_LINES)
            if STEPS[step][0] in {"running", "starting"}:
                self._note_running()
            await asyncio.sleep(0.05)
        self._note_running()
        self.port = int(os.environ["STAND_IN_PORT"])
        self.cmd = [sys.executable, "-c", SERVER]
        self.env_keep = [*self.env_keep, "STAND_IN_PORT"]
        if self.session is not None:
            self.session = replace(self.session, is_ready=True)
        return await super().start()

    async def stop(self, now: bool = False) -> None:
        await asyncio.sleep(self.cluster.stop_s)
        await super().stop(now=now)

    def clear_state(self) -> None:
        super().clear_state()
        self.session = None

    def get_args(self) -> list[str]:
        return []

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        async for news in self.start_progress.news():
            yield news.to_event()

    def _tell(self, step: int) -> None:
        for name, percent, message in STEPS[len(self.start_progress.log) : step + 1]:
            self.start_progress.add_step(name, percent, message)
        self.start_progress.show(*(Fact(**fact) for fact in self.cluster.facts))

    def _note_running(self) -> None:
        self.job_record = JobRecord(
            key=JobKey(job_id=4711, user=self.user.name, name="dsportal-0"),
            state=JobState.RUNNING,
            node="node01",
            starts_at="",
            comment="",
            reason="None",
            ends_at=self.cluster.ends_at,
        )
        self.left_s = 8 * 3600 - 1


def end_of_job(message: str, state: JobState) -> JobEndedError:
    end = JobEnd(state=state, exit_code=3, node="node01")
    return JobEndedError(message, next_step=NEXT_STEP, end=end, job_id=4711)


async def take_options(spawner: StandInSpawner, user_options: dict[str, Any]) -> None:
    try:
        catalog = await spawner.on("").read_catalog()
        request = Offer(traits=spawner).check(user_options, catalog)
    except PortalError as error:
        raise StartFailedError(error) from error
    spawner.session = Session(
        session_id="0",
        user=spawner.user.name,
        n_gpus=request.resources.n_gpus,
        walltime_s=request.walltime_s,
        job_id=4711,
    )
