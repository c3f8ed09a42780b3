"""What running and waiting sessions cost: questions to Slurm, CPU and memory of the hub."""

import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.one_machine.layout import SLURM_DIR
from tests.lab.benchmarks.rounds import Rounds
from tests.lab.benchmarks.spawner.hubs import PORTAL_USER, STOCK_USER, PortalHub, StockHub
from tests.support import parts
from tests.support.eventually import eventually
from tests.support.private_hub import ACCOUNT

N_RUNNING = 50
N_WAITING = 20
# As often as the portal's watcher looks at running sessions.
WINDOW_S = 15
# Room for the running sessions of both hubs, and for no other.
N_CPUS_PER_NODE = N_RUNNING
NODES = ("node01", "node02")
# batchspawner asks as the user; the portal as the hub's account, and submits as the user.
_ACCOUNTS = {PortalHub: (ACCOUNT, PORTAL_USER), StockHub: (STOCK_USER,)}
_OF_USER = re.compile(r"^\s+(\S+)\s+\(\s*\d+\)\s+count:(\d+)", re.M)
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")

Hub = PortalHub | StockHub


@dataclass(frozen=True, kw_only=True)
class Load:
    """One hub under one load.

    Attributes:
        slurm_rpcs_per_min: All requests of the hub to slurmctld and slurmdbd, by any command.
        cpu_cores: CPU time of the hub and of the commands that it ran, as a share of one core.
        rss_mib: Resident memory of the hub in MiB.
    """

    n_running: int
    n_waiting: int
    slurm_rpcs_per_min: Rounds
    cpu_cores: Rounds
    rss_mib: float


def measure_loads(portal: PortalHub, stock: StockHub, n_rounds: int) -> list[tuple[Load, Load]]:
    """Fill a cluster with sessions of two hubs and measure both at the same time.

    Args:
        portal: Started for small servers, on nodes with room for exactly 2 * `N_RUNNING`.
        stock: As `portal`.

    Returns:
        Portal and stock, with `N_RUNNING` running each, and then with `N_WAITING` besides.
    """
    hubs: tuple[PortalHub, StockHub] = (portal, stock)
    loads = []
    try:
        for hub in hubs:
            _start(hub, range(N_RUNNING))
        _wait_until_ready(hubs)
        loads.append(_measure(hubs, n_waiting=0, n_rounds=n_rounds))
        for hub in hubs:
            _start(hub, range(N_RUNNING, N_RUNNING + N_WAITING))
        eventually(lambda: _count("PENDING") == 2 * N_WAITING, timeout_s=120, every_s=1)
        loads.append(_measure(hubs, n_waiting=N_WAITING, n_rounds=n_rounds))
    finally:
        for hub in hubs:
            hub.kill()
        subprocess.run(["scancel", f"--user={PORTAL_USER}"], check=True)
        subprocess.run(["scancel", f"--user={STOCK_USER}"], check=True)
        eventually(lambda: _count("PENDING,RUNNING,COMPLETING") == 0, timeout_s=300, every_s=1)
    return loads


@contextmanager
def wide_nodes() -> Iterator[None]:
    """Give the two nodes more cores for a while; nothing here computes."""
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


def _start(hub: Hub, numbers: range) -> None:
    def start(number: int) -> None:
        options = {} if isinstance(hub, StockHub) else {"gpus": 0}
        path = f"/users/{hub.user}/servers/n{number}"
        hub.rest("POST", path, options, timeout_s=300).raise_for_status()

    with ThreadPoolExecutor(max_workers=10) as pool:
        list(pool.map(start, numbers))


def _wait_until_ready(hubs: Sequence[Hub]) -> None:
    n_sessions = len(hubs) * N_RUNNING
    eventually(lambda: _count("RUNNING") == n_sessions, timeout_s=600, every_s=1)
    eventually(lambda: sum(map(_n_ready, hubs)) == n_sessions, timeout_s=600, every_s=2)


def _n_ready(hub: Hub) -> int:
    servers = hub.rest("GET", f"/users/{hub.user}").json().get("servers", {})
    return sum(bool(server["ready"]) for server in servers.values())


def _measure(
    hubs: tuple[PortalHub, StockHub], *, n_waiting: int, n_rounds: int
) -> tuple[Load, Load]:
    # The last starts still ask something.
    time.sleep(WINDOW_S)
    rpcs: dict[Hub, list[float]] = {hub: [] for hub in hubs}
    cpu: dict[Hub, list[float]] = {hub: [] for hub in hubs}
    for _ in range(n_rounds):
        n_before, before = _count_rpcs(), time.monotonic()
        cpu_before_s = {hub: cpu_s(hub.pid) for hub in hubs}
        time.sleep(WINDOW_S)
        took_s, n_after = time.monotonic() - before, _count_rpcs()
        for hub in hubs:
            n_rpcs = sum(n_after[name] - n_before[name] for name in _ACCOUNTS[type(hub)])
            rpcs[hub].append(n_rpcs * 60 / took_s)
            cpu[hub].append((cpu_s(hub.pid) - cpu_before_s[hub]) / took_s)
    portal, stock = (
        Load(
            n_running=N_RUNNING,
            n_waiting=n_waiting,
            slurm_rpcs_per_min=Rounds(rpcs[hub]),
            cpu_cores=Rounds(cpu[hub], 4),
            rss_mib=round(rss_mib(hub.pid), 1),
        )
        for hub in hubs
    )
    print(portal, stock, sep="\n", flush=True)
    return portal, stock


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(text) for text in fields[11:15]) / _TICKS_PER_S


def rss_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    match = re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(match[1]) / 1024 if match else 0.0


def parse_rpcs(text: str) -> Counter[str]:
    """Return the requests that a daemon of Slurm has had, by user.

    Source:
        sdiag(1), sacctmgr(1), Slurm 22.05.
    """
    by_user = text.partition("statistics by user")[2]
    return Counter({name: int(count) for name, count in _OF_USER.findall(by_user)})


def _count_rpcs() -> Counter[str]:
    return parse_rpcs(_run("sdiag")) + parse_rpcs(_run("sacctmgr", "show", "stats"))


def _count(states: str) -> int:
    users = f"--user={PORTAL_USER},{STOCK_USER}"
    lines = _run("squeue", "-h", users, f"--states={states}").splitlines()
    return sum(bool(line.strip()) for line in lines)


def _run(*argv: str) -> str:
    def run() -> tuple[str]:
        done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
        # Also an answer without a line is one.
        return (done.stdout,)

    return eventually(run, timeout_s=60)[0]
