"""What running and waiting sessions cost: questions to Slurm, CPU and memory of the hub."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.one_machine.layout import SLURM_DIR
from tests.benchmarks.spawner.hubs import USER, PortalHub, StockHub
from tests.support import parts
from tests.support.eventually import eventually

N_RUNNING = (1, 50, 200)
N_WAITING = 20
WINDOW_S = 60
N_CPUS_PER_NODE = 100
NODES = ("node01", "node02")
# What squeue sends to slurmctld: one of these for each call.
_QUESTIONS = re.compile(r"^\s*REQUEST_JOB_(?:INFO|INFO_SINGLE|USER_INFO)\s.*count:(\d+)", re.M)
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Load:
    """One hub under one load.

    Attributes:
        n_running: Sessions that run.
        n_waiting: Sessions that wait.
        slurm_calls_per_min: Questions about jobs that slurmctld answered.
        cpu_cores: CPU time of the hub and of the commands that it ran, as a share of one core.
        rss_mib: Resident memory of the hub in MiB.
    """

    n_running: int
    n_waiting: int
    slurm_calls_per_min: float
    cpu_cores: float
    rss_mib: float


def measure_loads(hub: PortalHub | StockHub) -> list[Load]:
    """Fill a cluster step by step and measure at each step.

    Args:
        hub: Started for small servers, on nodes with room for exactly the most of `N_RUNNING`.

    Returns:
        A load for each number of running sessions, and one with sessions that wait besides.
    """
    loads = []
    n_started = 0
    try:
        for n_running in N_RUNNING:
            _start(hub, range(n_started, n_running))
            n_started = n_running
            _wait_until_ready(hub, n_running)
            loads.append(_measure(hub, n_running=n_running, n_waiting=0))
        _start(hub, range(n_started, n_started + N_WAITING))
        eventually(lambda: _count("PENDING") == N_WAITING, timeout_s=120, every_s=1)
        loads.append(_measure(hub, n_running=n_started, n_waiting=N_WAITING))
    finally:
        hub.kill()
        subprocess.run(["scancel", f"--user={USER}"], check=True)
        eventually(lambda: _count("PENDING,RUNNING,COMPLETING") == 0, timeout_s=300, every_s=1)
    return loads


@contextmanager
def wide_nodes() -> Iterator[None]:
    """Give the two nodes 100 cores each for a while; nothing here computes."""
    path = SLURM_DIR / "slurm.conf"
    text = path.read_text()
    n_per_socket = N_CPUS_PER_NODE // 2
    wide = re.sub(r"\bCPUs=\d+", f"CPUs={N_CPUS_PER_NODE}", text)
    wide = re.sub(r"\bCoresPerSocket=\d+", f"CoresPerSocket={n_per_socket}", wide)
    try:
        _restart_slurm(path, wide)
        yield
    finally:
        _restart_slurm(path, text)


def _restart_slurm(path: Path, text: str) -> None:
    for part in ("slurmctld", *NODES):
        parts.stop(part)
    path.write_text(text)
    for part in ("slurmctld", *NODES):
        parts.start(part)
    eventually(
        lambda: _run("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(NODES), timeout_s=90
    )


def _start(hub: PortalHub | StockHub, numbers: range) -> None:
    def start(number: int) -> None:
        options = {} if isinstance(hub, StockHub) else {"gpus": 0}
        path = f"/users/{USER}/servers/n{number}"
        hub.rest("POST", path, options, timeout_s=300).raise_for_status()

    with ThreadPoolExecutor(max_workers=10) as pool:
        list(pool.map(start, numbers))


def _wait_until_ready(hub: PortalHub | StockHub, n_sessions: int) -> None:
    eventually(lambda: _count("RUNNING") == n_sessions, timeout_s=600, every_s=1)
    eventually(lambda: _n_ready(hub) == n_sessions, timeout_s=600, every_s=2)


def _n_ready(hub: PortalHub | StockHub) -> int:
    servers = hub.rest("GET", f"/users/{USER}").json().get("servers", {})
    return sum(bool(server["ready"]) for server in servers.values())


def _measure(hub: PortalHub | StockHub, *, n_running: int, n_waiting: int) -> Load:
    n_before, cpu_before_s, before = _n_questions(), cpu_s(hub.pid), time.monotonic()
    time.sleep(WINDOW_S)
    took_s = time.monotonic() - before
    load = Load(
        n_running=n_running,
        n_waiting=n_waiting,
        slurm_calls_per_min=round((_n_questions() - n_before) * 60 / took_s, 1),
        cpu_cores=round((cpu_s(hub.pid) - cpu_before_s) / took_s, 4),
        rss_mib=round(rss_mib(hub.pid), 1),
    )
    print(load, flush=True)
    return load


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(text) for text in fields[11:15]) / _TICKS_PER_S


def rss_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    match = re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(match[1]) / 1024 if match else 0.0


def _n_questions() -> int:
    return sum(int(count) for count in _QUESTIONS.findall(_run("sdiag")))


def _count(states: str) -> int:
    lines = _run("squeue", "-h", f"--user={USER}", f"--states={states}").splitlines()
    return sum(bool(line.strip()) for line in lines)


def _run(*argv: str) -> str:
    def run() -> tuple[str]:
        done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
        # Also an answer without a line is one.
        return (done.stdout,)

    return eventually(run, timeout_s=60)[0]
