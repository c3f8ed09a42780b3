"""One size of a site: how soon a killed hub has all sessions again, and how it carries the load."""

import asyncio
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.lab.benchmarks.rounds import p95
from tests.lab.benchmarks.scale.load import People, Rates
from tests.lab.benchmarks.scale.sessions import answering_server
from tests.lab.benchmarks.scale.site import ADDRESS, ROUNDS_S, Site
from tests.lab.benchmarks.spawner.load import cpu_s, rss_mib
from tests.support.eventually import eventually
from tests.support.postgres import running_postgres

# So that each of the hub's rounds comes once.
WINDOW_S = ROUNDS_S + 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A site.

    Attributes:
        n_sessions: Running sessions, and as many nodes.
        n_jobs: Jobs of others in Slurm.
    """

    n_sessions: int
    n_jobs: int
    rates: Rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What one size cost; times of pages and stops are in ms."""

    take_up_s: float
    take_up_cpu_s: float
    form_p95_ms: float
    home_p95_ms: float
    start_p95_s: float
    n_failed_starts: int
    n_failed_pages: int
    loop_stop_max_ms: float
    n_stops: int
    cpu_cores: float
    rss_mib: float


def measure(size: Size) -> Carried:
    """Fill a site's database, kill its hub, start it again, and have people come."""
    with (
        tempfile.TemporaryDirectory(prefix="scale-", ignore_cleanup_errors=True) as name,
        answering_server(ADDRESS) as port,
        Site(
            Path(name),
            n_sessions=size.n_sessions,
            n_nodes=size.n_sessions,
            n_jobs=size.n_jobs,
            server_port=port,
        ) as site,
    ):
        site.start()
        site.kill()
        site.fill()
        # The proxy learns its routes now, as it would have when the sessions started.
        site.start()
        eventually(lambda: site.count_routes() > size.n_sessions, timeout_s=120, every_s=1)
        site.kill()
        began = time.monotonic()
        site.start()
        eventually(lambda: site.count_ready() == size.n_sessions, timeout_s=120)
        take_up_s, take_up_cpu_s = time.monotonic() - began, cpu_s(site.pid)
        print(
            f"take-up of {size.n_sessions}: {take_up_s:.1f} s, {take_up_cpu_s:.1f} s of CPU",
            flush=True,
        )
        people = People(site, round(size.rates.starts_per_min * WINDOW_S / 60 * 1.5) + 5)
        cpu_before_s, began = cpu_s(site.pid), time.monotonic()
        found = asyncio.run(people.load(size.rates, WINDOW_S))
        took_s = time.monotonic() - began
        stops_ms = site.steps_ms(began)
        return Carried(
            take_up_s=round(take_up_s, 1),
            take_up_cpu_s=round(take_up_cpu_s, 1),
            form_p95_ms=round(p95(found.took_ms["spawn"]), 1),
            home_p95_ms=round(p95(found.took_ms["home"]), 1),
            start_p95_s=round(p95(found.starts_ms) / 1000, 1) if found.starts_ms[1:] else 0.0,
            n_failed_starts=found.n_failed,
            n_failed_pages=found.n_failed_pages,
            loop_stop_max_ms=round(max(stops_ms, default=0.0), 1),
            n_stops=sum(stop > 50 for stop in stops_ms),
            cpu_cores=round((cpu_s(site.pid) - cpu_before_s) / took_s, 2),
            rss_mib=round(rss_mib(site.pid)),
        )


def measure_failover(n_sessions: int) -> float:
    """Return the seconds from the death of a hub until another one has all its sessions."""
    with (
        tempfile.TemporaryDirectory(prefix="scale-", ignore_cleanup_errors=True) as name,
        running_postgres("postgres", auth="trust") as db_url,
        answering_server(ADDRESS) as port,
        Site(
            Path(name),
            **{"n_sessions": n_sessions, "n_nodes": n_sessions, "n_jobs": 10 * n_sessions},
            **{"server_port": port, "db_url": db_url},
        ) as site,
    ):
        site.start()
        site.kill()
        site.fill()
        site.start()
        eventually(lambda: site.count_routes() > n_sessions, timeout_s=120, every_s=1)
        site.start_standby()
        began = time.monotonic()
        site.kill()
        site.take_over()
        eventually(lambda: site.count_ready() == n_sessions, timeout_s=120)
        took_s = time.monotonic() - began
        print(f"another hub has {n_sessions} sessions after {took_s:.1f} s", flush=True)
        return round(took_s, 1)
