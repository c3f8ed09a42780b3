"""Forecast and actual start of a session, for Prometheus and the record of forecasts."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from spawner.errors import SlurmError
from spawner.forecast.query import ForecastQuery
from spawner.metrics import (
    FORECAST_ERROR_SECONDS,
    SESSION_START_SECONDS,
    SESSION_STARTS,
    SESSION_WAIT_SECONDS,
)
from spawner.options.request import SessionRequest
from spawner.session.cluster import Cluster
from spawner.session.queue_status import slurm_time_s
from spawner.session.session import Session
from spawner.session.session_job import SessionJob
from spawner.session.spawn_error import StartFailedError
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD
from spawner.slurm.jobs import JobRecord
from spawner.slurm.resources import ResourcesPerGpu

# A start does not wait longer for a forecast.
_LONGEST_QUESTION_S = 3.0


async def expect_start(
    cluster: Cluster, session: Session, request: SessionRequest, question: ForecastQuery
) -> None:
    """Record when a session should start, just before its job is submitted.

    That is now if the catalog has room for it, else Slurm's forecast. Without one the session
    starts all the same.
    """
    made_at = datetime.now(UTC)
    with contextlib.suppress(SlurmError, asyncio.TimeoutError):
        if has_room(await cluster.catalog.get(), request):
            cluster.forecasts.expect(session.session_id, made_at, made_at=made_at)
            return
        asked = cluster.forecaster.forecast(question)
        forecast = await asyncio.wait_for(asked, _LONGEST_QUESTION_S)
        if forecast is not None and isinstance(forecast.answer, datetime):
            cluster.forecasts.expect(session.session_id, forecast.answer, made_at=made_at)


def has_room(catalog: Catalog, request: SessionRequest) -> bool:
    """Return whether one node has the request's GPUs free, together with their cores and memory."""
    asked, gpu_type = request.resources, request.options.gpu_type
    n_gpus = max(1, asked.n_gpus)
    shape = ResourcesPerGpu(
        cores_per_gpu=max(1, asked.n_cores // n_gpus),
        memory_mib_per_gpu=max(1, asked.memory_mib // n_gpus),
    )
    if asked.n_gpus == 0 or gpu_type == SHARD:
        return catalog.has_room(asked, request.partition)
    return catalog.largest_startable_gpus(shape, request.partition, gpu_type) >= n_gpus


@contextlib.contextmanager
def counted_start(cluster: Cluster, job: SessionJob) -> Iterator[None]:
    """Count a start by its result; one that its user cancelled is left out."""
    try:
        yield
    except StartFailedError:
        SESSION_STARTS.labels("failed").inc()
        raise
    count_start(cluster, job.session, job.record)


def count_start(cluster: Cluster, session: Session, record: JobRecord | None) -> None:
    """Record how long a session waited and took to start, once its server answers."""
    SESSION_STARTS.labels("started").inc()
    started_s = slurm_time_s(record.starts_at) if record else 0.0
    if not started_s:
        return
    # Slurm's times are whole seconds, and its clock may differ from the hub's.
    SESSION_START_SECONDS.observe(max(0.0, time.time() - started_s))
    if session.submitted_at:
        SESSION_WAIT_SECONDS.observe(max(0.0, started_s - session.submitted_at))
    started_at = datetime.fromtimestamp(started_s, UTC)
    late_s = cluster.forecasts.start(session.session_id, started_at)
    if late_s is not None:
        FORECAST_ERROR_SECONDS.observe(abs(late_s))
