"""The portal's spawner beside batchspawner and bare sbatch, on one cluster, in one run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import pytest

from tests.benchmarks.report import Table, write_report
from tests.benchmarks.spawner.hubs import USER, PortalHub, StockHub, sudo_for_stock
from tests.benchmarks.spawner.load import N_WAITING, Load, measure_loads, wide_nodes
from tests.benchmarks.spawner.start import N_ROUNDS, Starts, measure_starts
from tests.benchmarks.spawner.thousand import N_SESSIONS, Thousand, measure_thousand

pytestmark = pytest.mark.cluster

WORDS = {
    "start_vs_bare": "time from start button to first answer, median, relative to bare sbatch of "
    "the same job",
    "start_vs_stock": "the same relative to batchspawner's SlurmSpawner with JupyterHub's own "
    "server",
    "slurm_calls_per_min_waiting": "job queries to slurmctld per minute, 200 sessions running and "
    "20 waiting, no page open",
    "slurm_calls_per_min_running": "the same with 200 running and none waiting",
    "stock_slurm_calls_per_min": "batchspawner's, with 200 running and 20 waiting",
    "hub_cpu_cores_at_1000": "CPU use of the hub and its commands with 1,000 sessions, cores",
    "hub_rss_mib_at_1000": "memory of the hub with 1,000 sessions, MiB",
    "take_up_s_at_1000": "from the restart of a killed hub until its 1,000 sessions are ready, "
    "seconds",
}
NOTES = (
    "Starts alternate. Portal and bare start the portal's own server, which loads less; stock "
    "starts JupyterHub's through batchspawner's wrapper: it differs in both server and spawner.",
    "slurmctld schedules new jobs once a second: all three wait for that, half a second on "
    "average.",
    "Bare is sbatch of the portal's own job script; a fake hub accepts the server's report.",
    "Loads: real jobs on the real cluster, with a small server; slurmctld counts the job "
    "queries; sbatch, sinfo, forecasts and accounting are not included.",
    "1,000 sessions: real hub, database, watcher and proxy. A fake squeue prints 1,000 lines, and "
    "one small server answers for all sessions. The servers' own activity reports are not "
    "included.",
)


def test_spawner_beside_stock_and_bare() -> None:
    portal, stock = PortalHub(), StockHub()
    try:
        with sudo_for_stock():
            starts = _starts(portal, stock)
            with wide_nodes():
                loads = _loads(portal)
                stock_loads = _loads(stock)
    finally:
        portal.close()
        stock.close()
    thousand = measure_thousand()
    _write(starts, loads, stock_loads, thousand)


def _starts(portal: PortalHub, stock: StockHub) -> Starts:
    for hub in (portal, stock):
        hub.start_real()
        hub.rest("POST", f"/users/{USER}").raise_for_status()
    return measure_starts(portal, stock)


def _loads(hub: PortalHub | StockHub) -> list[Load]:
    hub.kill()
    hub.start_trivial()
    return measure_loads(hub)


def _write(
    starts: Starts, loads: Sequence[Load], stock_loads: Sequence[Load], thousand: Thousand
) -> None:
    write_report(
        "spawner",
        title="The spawner",
        figures={
            "start_vs_bare": round(starts.vs_bare, 2),
            "start_vs_stock": round(starts.vs_stock, 2),
            "slurm_calls_per_min_waiting": loads[-1].slurm_calls_per_min,
            "slurm_calls_per_min_running": loads[-2].slurm_calls_per_min,
            "stock_slurm_calls_per_min": stock_loads[-1].slurm_calls_per_min,
            "hub_cpu_cores_at_1000": thousand.cpu_cores,
            "hub_rss_mib_at_1000": thousand.rss_mib,
            "take_up_s_at_1000": thousand.take_up_s,
        },
        words=WORDS,
        tables=(_start_table(starts), _load_table(loads, stock_loads), _thousand_table(thousand)),
        notes=NOTES,
    )


def _start_table(starts: Starts) -> Table:
    rows = [
        (name, *(f"{value:.2f}" for value in (min(times), statistics.median(times), max(times))))
        for name, times in (
            ("portal", starts.portal_s),
            ("batchspawner 1.3.0", starts.stock_s),
            ("bare sbatch", starts.bare_s),
        )
    ]
    title = f"From the start button to the first answer, {N_ROUNDS} rounds, seconds"
    return Table(title=title, columns=("", "least", "median", "most"), rows=rows)


def _load_table(loads: Sequence[Load], stock_loads: Sequence[Load]) -> Table:
    columns = (
        *("running", "waiting", "portal: calls/min", "batchspawner: calls/min"),
        *("portal: CPU cores", "batchspawner: CPU cores"),
        *("portal: MiB", "batchspawner: MiB"),
    )
    rows = [
        (
            *(ours.n_running, ours.n_waiting, ours.slurm_calls_per_min, stock.slurm_calls_per_min),
            *(ours.cpu_cores, stock.cpu_cores, ours.rss_mib, stock.rss_mib),
        )
        for ours, stock in zip(loads, stock_loads, strict=True)
    ]
    return Table(
        title=f"Running sessions, and {N_WAITING} waiting ones", columns=columns, rows=rows
    )


def _thousand_table(thousand: Thousand) -> Table:
    return Table(
        title=f"{N_SESSIONS:,} sessions in one hub",
        columns=("take-up, s", "CPU cores", "MiB", "squeue calls/min"),
        rows=[
            (
                thousand.take_up_s,
                thousand.cpu_cores,
                thousand.rss_mib,
                thousand.n_slurm_calls_per_min,
            )
        ],
    )
