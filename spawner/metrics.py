"""Prometheus metrics of sessions, of their starts and of calls to Slurm.

prometheus_client is used directly: JupyterHub, which every spawner needs, depends on it and
serves its default registry as /hub/metrics.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from prometheus_client import Counter, Gauge, Histogram

from spawner.errors import JobRejectedError, SlurmError, SlurmUnavailableError

SESSION_STATES = ("waiting", "starting", "running")

SESSIONS = Gauge("dsportal_sessions", "Sessions of this hub that have a job.", ["state", "cluster"])
SESSION_STARTS = Counter(
    "dsportal_session_starts_total", "Starts of sessions by what became of them.", ["result"]
)
SESSION_WAIT_SECONDS = Histogram(
    "dsportal_session_wait_seconds",
    "From submitting a session's job until Slurm started it.",
    # Up to three days: a session may wait over a weekend.
    buckets=(1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400),
)
SESSION_START_SECONDS = Histogram(
    "dsportal_session_start_seconds",
    "From the start of a session's job until its notebook server answered.",
    # Up to the default of running_start_timeout_s, after which a start has failed.
    buckets=(1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300),
)
FORECAST_ERROR_SECONDS = Histogram(
    "dsportal_forecast_error_seconds",
    "Between the forecast and the actual start of a session that waited, whichever came first.",
    buckets=(15, 60, 300, 900, 1800, 3600, 2 * 3600, 4 * 3600, 12 * 3600, 86400),
)
SLURM_CALL_SECONDS = Histogram(
    "dsportal_slurm_call_seconds",
    "Duration of calls to Slurm's commands and to the launcher.",
    ["command", "cluster"],
    # Up to the seconds after which the launcher is given up.
    buckets=(0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25),
)
SLURM_FAILURES = Counter(
    "dsportal_slurm_failures_total",
    "Calls to Slurm that failed, by kind.",
    ["command", "kind", "cluster"],
)


@contextlib.contextmanager
def timed_call(command: str, cluster: str = "") -> Iterator[None]:
    """Measure one call to Slurm and count its failure.

    Args:
        command: Name of the command, or "launcher" with the verb.
        cluster: Name of the cluster; empty for the first one.
    """
    began_s = time.monotonic()
    try:
        yield
    except SlurmError as error:
        SLURM_FAILURES.labels(command, _error_kind(error), cluster).inc()
        raise
    finally:
        SLURM_CALL_SECONDS.labels(command, cluster).observe(time.monotonic() - began_s)


def show_sessions(count: Callable[[], Mapping[str, int]], cluster: str = "") -> None:
    """Have the number of sessions computed whenever the metrics are read.

    Args:
        count: Returns sessions by state; a state of `SESSION_STATES` that it leaves out has none.
        cluster: Name of their cluster; empty for the first one.
    """
    for state in SESSION_STATES:
        SESSIONS.labels(state, cluster).set_function(partial(_count_state, count, state))


def _count_state(count: Callable[[], Mapping[str, int]], state: str) -> float:
    return count().get(state, 0)


def _error_kind(error: SlurmError) -> str:
    if isinstance(error, SlurmUnavailableError):
        return "no_answer"
    return "rejected" if isinstance(error, JobRejectedError) else "error"
