"""Users who start and stop at random for a long time, and what that leaves behind."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.one_machine import supervisor
from deploy.one_machine.layout import HUB_STATE_DIR
from tests.lab.faults.bring_up import RUNNING
from tests.lab.faults.fault import let_pass
from tests.lab.faults.member import Member
from tests.lab.faults.portal_faults import DATABASE
from tests.support.eventually import eventually

LONGEST_PAUSE_S = 10.0
STOP_TIMEOUT_S = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the portal occupies."""

    hub_mib: int
    hub_descriptors: int
    proxy_mib: int
    proxy_descriptors: int
    rows: int
    files: int

    def growth_since(self, before: Usage) -> str:
        """Return the differences as one line."""
        earlier = asdict(before)
        pairs = asdict(self).items()
        return ", ".join(f"{name} {earlier[name]} to {now}" for name, now in pairs)


def read_usage() -> Usage:
    """Look at hub, proxy and database."""
    hub, proxy = pid_of("hub"), pid_of("proxy")
    return Usage(
        hub_mib=memory_mib(hub),
        hub_descriptors=len(os.listdir(f"/proc/{hub}/fd")),
        proxy_mib=memory_mib(proxy),
        proxy_descriptors=len(os.listdir(f"/proc/{proxy}/fd")),
        rows=n_rows(DATABASE),
        files=sum(path.is_file() for path in HUB_STATE_DIR.rglob("*")),
    )


def pid_of(part: str) -> int:
    """Return the process of a part that runs."""
    pid = supervisor.pid_of(part)
    if pid is None:
        raise RuntimeError(f"{part} does not run")
    return pid


def memory_mib(pid: int) -> int:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (li for li in lines if li.startswith("VmRSS:"))
    return int(line.split()[1]) // 1024


def n_rows(database: Path) -> int:
    """Return the number of rows in all tables."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = [name for (name,) in tables]
        counts = (connection.execute(f'SELECT count(*) FROM "{name}"') for name in names)
        return sum(count.fetchone()[0] for count in counts)


def churn(members: Sequence[Member], duration_s: float, chance: random.Random) -> int:
    """Let users start and stop at random."""
    seeds = [chance.random() for _ in members]
    end_s = time.monotonic() + duration_s
    with ThreadPoolExecutor(len(members)) as pool:
        return sum(
            pool.map(lambda pair: _come_and_go(*pair, end_s), zip(members, seeds, strict=True))
        )


def _come_and_go(member: Member, seed: float, end_s: float) -> int:
    chance, n_starts = random.Random(seed), 0
    while time.monotonic() < end_s:
        member.start(RUNNING)
        n_starts += 1
        # Some stop what has not started yet.
        let_pass(chance.uniform(0, LONGEST_PAUSE_S))
        member.stop()
        eventually(lambda: not member.server(), timeout_s=STOP_TIMEOUT_S, every_s=0.5)
    return n_starts
