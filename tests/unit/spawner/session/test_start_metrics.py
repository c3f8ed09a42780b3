"""Forecast and start of sessions: recorded, kept over a restart, and told to Prometheus."""

import asyncio
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from dsportal.slurm.states import JobState
from spawner.cache import Cache
from spawner.errors import JobRejectedError, SlurmUnavailableError
from spawner.forecast.accuracy import ForecastRecord
from spawner.forecast.forecaster import Forecaster
from spawner.forecast.query import ForecastQuery
from spawner.metrics import show_sessions, timed_call
from spawner.options.job_options import JobOptions
from spawner.options.request import SessionRequest
from spawner.session.session import Session
from spawner.session.start_metrics import count_start, expect_start, has_room
from spawner.settings.resources import ResourceSettings
from spawner.slurm.catalog import Catalog
from spawner.slurm.job_script import JobPlan
from spawner.slurm.jobs import JobKey, JobRecord

QUESTION = ForecastQuery(
    user="ada",
    plan=JobPlan(
        job_name="dsportal-forecast",
        comment="c",
        resources=ResourceSettings().per_gpu.resources(1),
        walltime_s=3600,
        server_argv=("true",),
    ),
)
SINFO_LINE = (
    "jupyter|jupyter*|up|1-00:00:00|UNLIMITED|node01|10.77.0.1|mixed|"
    "{cores}/0/0/40|384000|{memory}|gpu:v100:4|gpu:v100:{used}(IDX:N/A)|\n"
)


def catalog(n_used: int) -> Catalog:
    line = SINFO_LINE.format(cores=8 * n_used, memory=49152 * n_used, used=n_used)
    return Catalog.parse(line)


def request(n_gpus: int) -> SessionRequest:
    return SessionRequest(
        options=JobOptions.parse({"gpus": n_gpus}),
        resources=ResourceSettings().per_gpu.resources(n_gpus),
        partition="jupyter",
        walltime_s=3600,
    )


class FakeCluster:
    """A cluster with a catalog, a forecast and a record."""

    def __init__(self, path: Path | None = None, *, n_used: int = 4, said: str = "") -> None:
        self.forecasts = ForecastRecord(path)
        self.n_used = n_used
        self.said = said
        self.n_questions = 0
        self.forecaster = Forecaster(
            self.test_submit,
            clock=time.monotonic,
            now=lambda: datetime.now().astimezone(),
            asks_per_minute=12,
            fresh_s=60.0,
        )

        self.catalog = Cache(self._read_catalog, fresh_s=0.0)

    async def _read_catalog(self) -> Catalog:
        return catalog(self.n_used)

    async def test_submit(self, question: ForecastQuery) -> str:
        self.n_questions += 1
        await asyncio.sleep(0)
        if not self.said:
            raise SlurmUnavailableError("Slurm did not answer.")
        return self.said


def starts_in(minutes: int) -> str:
    moment = datetime.now() + timedelta(minutes=minutes)
    return f"sbatch: Job 5 to start at {moment:%Y-%m-%dT%H:%M:%S} using 8 processors on node01"


def session(session_id: str = "0", *, waited_s: float = 0) -> Session:
    return Session(session_id=session_id, user="ada", n_gpus=1, submitted_at=time.time() - waited_s)


def running_since(seconds: float) -> JobRecord:
    started_at = datetime.now() - timedelta(seconds=seconds)
    return JobRecord(
        key=JobKey(job_id=5, user="ada", name="dsportal-0"),
        state=JobState.RUNNING,
        node="node01",
        starts_at=f"{started_at:%Y-%m-%dT%H:%M:%S}",
        comment="",
        reason="None",
    )


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.parametrize(("n_used", "n_gpus", "fits"), [(0, 4, True), (3, 1, True), (3, 2, False)])
def test_a_session_has_room_where_one_node_has_its_gpus_free(
    n_used: int, n_gpus: int, fits: bool
) -> None:
    assert has_room(catalog(n_used), request(n_gpus)) is fits


async def test_where_there_is_room_slurm_is_not_asked() -> None:
    cluster: Any = FakeCluster(n_used=0)

    await expect_start(cluster, session(), request(1), QUESTION)

    assert cluster.n_questions == 0


async def test_a_session_that_was_to_wait_an_hour_and_started_at_once_is_an_error_of_an_hour() -> (
    None
):
    cluster: Any = FakeCluster(said=starts_in(60))
    before = metric("dsportal_forecast_error_seconds_count")

    await expect_start(cluster, session(), request(1), QUESTION)
    count_start(cluster, session(), running_since(0))

    accuracy = cluster.forecasts.accuracy
    assert accuracy.n_sessions == 1
    assert accuracy.median_error_s == pytest.approx(3600, abs=10)
    assert accuracy.median_late_s == pytest.approx(-3600, abs=10)
    assert metric("dsportal_forecast_error_seconds_count") == before + 1


async def test_many_sessions_at_once_cost_slurm_one_question() -> None:
    cluster: Any = FakeCluster(said=starts_in(60))

    await asyncio.gather(
        *(expect_start(cluster, session(str(n)), request(1), QUESTION) for n in range(50))
    )

    assert cluster.n_questions == 1


async def test_no_forecast_keeps_no_session_from_its_start() -> None:
    cluster: Any = FakeCluster(said="")

    await expect_start(cluster, session(), request(1), QUESTION)
    count_start(cluster, session(), running_since(0))
    count_start(cluster, session(), None)

    assert cluster.forecasts.accuracy is None


def test_waiting_and_starting_are_told_apart() -> None:
    names = ("dsportal_session_wait_seconds_sum", "dsportal_session_start_seconds_sum")
    before = [metric(name) for name in names]

    count_start(FakeCluster(), session(waited_s=100), running_since(10))

    waited_s, started_s = (metric(name) - value for name, value in zip(names, before, strict=True))
    assert waited_s == pytest.approx(90, abs=3)
    assert started_s == pytest.approx(10, abs=3)


def test_calls_are_counted_by_command_and_failures_by_kind() -> None:
    before = metric("dsportal_slurm_call_seconds_count", command="squeue", cluster="volta")
    with timed_call("squeue", "volta"):
        pass
    for error in (SlurmUnavailableError("no"), JobRejectedError("no")):
        with pytest.raises(type(error)), timed_call("squeue", "volta"):
            raise error

    assert (
        metric("dsportal_slurm_call_seconds_count", command="squeue", cluster="volta") == before + 3
    )
    for kind in ("no_answer", "rejected"):
        assert (
            metric("dsportal_slurm_failures_total", command="squeue", cluster="volta", kind=kind)
            >= 1
        )


def test_sessions_are_counted_when_the_metrics_are_read() -> None:
    numbers = {"waiting": 3}
    show_sessions(lambda: numbers, "volta")
    show_sessions(lambda: {"waiting": 1})
    numbers["running"] = 2

    assert metric("dsportal_sessions", state="waiting", cluster="volta") == 3
    assert metric("dsportal_sessions", state="running", cluster="volta") == 2
    assert metric("dsportal_sessions", state="starting", cluster="volta") == 0
    assert metric("dsportal_sessions", state="waiting", cluster="") == 1
