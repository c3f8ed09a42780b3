"""The portal's spawner beside batchspawner and bare sbatch, on one cluster, in one run."""

from collections.abc import Mapping, Sequence

import pytest

from tests.lab.benchmarks.report import LEAST_ROUNDS, Table, missed_of, write_report
from tests.lab.benchmarks.rounds import Rounds
from tests.lab.benchmarks.spawner.hubs import PortalHub, Server, StockHub, sudo_for_stock
from tests.lab.benchmarks.spawner.load import (
    N_RUNNING,
    N_WAITING,
    WINDOW_S,
    Load,
    measure_loads,
    wide_nodes,
)
from tests.lab.benchmarks.spawner.start import Way, measure_starts
from tests.support import parts

pytestmark = pytest.mark.cluster

# A start waits for slurmctld's next look, so that it needs more rounds than the rest.
STARTS_PER_ROUND = 2

WORDS = {
    "start_vs_bare": "time from the request for a session to the first answer of its server, "
    "relative to sbatch alone with the same server",
    "start_vs_stock": "the same relative to batchspawner with JupyterHub's own server: spawner and "
    "server differ",
    "start_vs_stock_portal_server": "the same relative to batchspawner with the portal's server: "
    "only the spawner differs",
    "start_vs_stock_stock_server": "both with JupyterHub's own server: only the spawner differs",
    "slurm_rpcs_per_min_waiting": "all requests to slurmctld and slurmdbd a minute, of any command "
    f"of the hub or for its user, {N_RUNNING} sessions running and {N_WAITING} waiting, no page "
    "open",
    "slurm_rpcs_per_min_running": f"the same with {N_RUNNING} running and none waiting",
    "stock_slurm_rpcs_per_min_waiting": "batchspawner's, with as many running and waiting",
    "stock_slurm_rpcs_per_min_running": "batchspawner's, with as many running and none waiting",
}
NOTES = (
    "Starts alternate. The portal's server loads less than JupyterHub's. Each spawner is measured "
    "with both.",
    "slurmctld schedules new jobs once a second: all ways wait for that, half a second on average. "
    "Its log tells how long each job waited. Each start counts with the mean of all these waits.",
    "Alone is sbatch of the portal's own job script. A fake hub accepts the server's report.",
    "Loads: real jobs on the real cluster, with a small server. Both hubs run at the same time, "
    "each with a user of its own. slurmctld and slurmdbd count the requests of each user. "
    "batchspawner asks as the user, the portal as the hub's account and as the user. "
    "One command can send several requests.",
)


def test_spawner_beside_stock_and_bare(rounds: int) -> None:
    with sudo_for_stock(), parts.stopped("hub"):
        starts = measure_starts(STARTS_PER_ROUND * rounds)
        loads = _measure_loads(rounds)

    figures = _figures(starts, loads)
    _write(figures, starts, loads, rounds)
    if rounds >= LEAST_ROUNDS:
        assert missed_of("spawner") == {}


def _measure_loads(rounds: int) -> list[tuple[Load, Load]]:
    portal, stock = PortalHub(), StockHub()
    try:
        with wide_nodes():
            for hub in (portal, stock):
                hub.serve(Server.TRIVIAL)
                hub.rest("POST", f"/users/{hub.user}").raise_for_status()
            return measure_loads(portal, stock, rounds)
    finally:
        portal.close()
        stock.close()


def _figures(starts: Mapping[Way, Rounds], loads: Sequence[tuple[Load, Load]]) -> dict[str, Rounds]:
    (running, stock_running), (waiting, stock_waiting) = loads
    ours = starts[Way.PORTAL]
    return {
        "start_vs_bare": ours.over(starts[Way.BARE]),
        "start_vs_stock": ours.over(starts[Way.STOCK]),
        "start_vs_stock_portal_server": ours.over(starts[Way.STOCK_PORTAL_SERVER]),
        "start_vs_stock_stock_server": starts[Way.PORTAL_STOCK_SERVER].over(starts[Way.STOCK]),
        "slurm_rpcs_per_min_waiting": waiting.slurm_rpcs_per_min,
        "slurm_rpcs_per_min_running": running.slurm_rpcs_per_min,
        "stock_slurm_rpcs_per_min_waiting": stock_waiting.slurm_rpcs_per_min,
        "stock_slurm_rpcs_per_min_running": stock_running.slurm_rpcs_per_min,
    }


def _write(
    figures: Mapping[str, Rounds],
    starts: Mapping[Way, Rounds],
    loads: Sequence[tuple[Load, Load]],
    rounds: int,
) -> None:
    write_report(
        "spawner",
        title="The spawner",
        rounds=rounds,
        figures={name: figure.median for name, figure in figures.items()},
        spread={name: figure.spread for name, figure in figures.items()},
        words=WORDS,
        tables=(_start_table(starts), _load_table(loads)),
        notes=NOTES,
    )


def _start_table(starts: Mapping[Way, Rounds]) -> Table:
    rows = [
        (
            way.value,
            *(f"{value:.2f}" for value in (min(took.values), took.median, max(took.values))),
        )
        for way, took in starts.items()
    ]
    n_rounds = len(starts[Way.PORTAL].values)
    return Table(
        title=f"From the request to the first answer, {n_rounds} rounds, seconds",
        columns=("spawner and server", "least", "median", "most"),
        rows=rows,
    )


def _load_table(loads: Sequence[tuple[Load, Load]]) -> Table:
    rows = [
        (
            *(name, load.n_running, load.n_waiting, load.slurm_rpcs_per_min.text),
            *(load.cpu_cores.text, load.rss_mib),
        )
        for pair in loads
        for name, load in zip(("portal", "batchspawner 1.3.0"), pair, strict=True)
    ]
    return Table(
        title=f"Sessions that run and wait, windows of {WINDOW_S} s: median (least to most)",
        columns=("", "running", "waiting", "requests to Slurm/min", "CPU cores", "MiB"),
        rows=rows,
    )
