"""A large site on one hub, and a hub that takes over from one that was killed."""

from tests.lab.benchmarks.report import LEAST_ROUNDS, Table, missed_of, write_report
from tests.lab.benchmarks.rounds import Rounds
from tests.lab.benchmarks.scale.load import Rates
from tests.lab.benchmarks.scale.measure import (
    WINDOW_S,
    Carried,
    Size,
    measure,
    measure_failover,
)
from tests.lab.benchmarks.scale.proxy import N_CONNECTIONS, measure_proxy, table_of
from tests.lab.benchmarks.scale.sessions import ACTIVITY_INTERVAL_S

SIZES = tuple(
    Size(n_sessions=n, n_jobs=10 * n, rates=Rates(pages_per_s=n / 200, starts_per_min=n / 50))
    for n in (1_000, 5_000, 10_000)
)
N_FAILOVER = 1_000

WORDS = {
    "loop_stop_max_ms": "longest step of the hub's event loop, in which nobody is answered, with"
    " 5,000 sessions and nodes, ms",
    "form_p95_ms_10000": "response time of the form with 10,000 sessions and nodes, 95th percentile"
    ", ms",
    "home_p95_ms_10000": "the same of the home page of users with a session, ms",
    "take_up_s_1000": "from the restart of a killed hub until its 1,000 sessions are ready,"
    " seconds",
    "take_up_s_10000": "from the restart of a killed hub until its 10,000 sessions are ready,"
    " seconds",
    "hub_cpu_cores_10000": "CPU use of the hub and its commands under this load, cores",
    "hub_rss_mib_10000": "memory of the hub, MiB",
    "failover_s": f"from kill -9 of a hub until another one that waited has its {N_FAILOVER:,}"
    " sessions, with PostgreSQL, seconds",
    "proxy_requests_per_s_2_cores": "small requests to sessions through a proxy with two workers,"
    " on two cores that also make and answer the requests, requests/s",
    "proxy_requests_2_vs_1": "the same, in times of a proxy of one process",
}
NOTES = (
    f"Each size for {WINDOW_S:g} s. Of 10,000 sessions: 50 pages a second, half of them forms, and"
    " 200 starts a minute, each followed by the events of the waiting page; fewer in proportion"
    f" with fewer sessions. Each session reports its activity every {ACTIVITY_INTERVAL_S} s. Nodes"
    " are as many as sessions, and others have ten times as many jobs in Slurm, most of them"
    " waiting.",
    "Real: JupyterHub with the portal's settings, pages and spawner, SQLite, watcher, search for"
    " orphans, and the portal's proxy, each process on this machine beside the people who ask."
    " JupyterHub's rounds over all routes and the search for orphans come every 25 s in place of 5"
    " minutes.",
    "Stand-ins: Slurm's commands, which print lists of this size, and one server for all sessions."
    " Passwords are not checked, and internal TLS is off.",
    f"The proxy has internal TLS: {N_CONNECTIONS} connections ask one server, which shows the"
    " certificate of the route. That server and those who ask use the same two cores, so two"
    " workers never have both to themselves.",
)


def test_one_hub_carries_a_large_site(rounds: int) -> None:
    carried = {size.n_sessions: measure(size) for size in SIZES}
    failover_s = measure_failover(N_FAILOVER)
    proxies = measure_proxy(rounds)
    one, two = (Rounds([load.requests_per_s for load in proxies[n]], 0) for n in (1, 2))

    large = carried[10_000]
    write_report(
        "scale",
        title="A large site",
        # Each size is measured once.
        rounds=rounds if rounds < LEAST_ROUNDS else None,
        figures={
            "loop_stop_max_ms": carried[5_000].loop_stop_max_ms,
            "form_p95_ms_10000": large.form_p95_ms,
            "home_p95_ms_10000": large.home_p95_ms,
            "take_up_s_1000": carried[1_000].take_up_s,
            "take_up_s_10000": large.take_up_s,
            "hub_cpu_cores_10000": large.cpu_cores,
            "hub_rss_mib_10000": large.rss_mib,
            "failover_s": failover_s,
            "proxy_requests_per_s_2_cores": two.median,
            "proxy_requests_2_vs_1": two.over(one).median,
        },
        spread={
            "proxy_requests_per_s_2_cores": two.spread,
            "proxy_requests_2_vs_1": two.over(one).spread,
        },
        words=WORDS,
        tables=(_table(carried), table_of(proxies)),
        notes=NOTES,
    )
    if rounds >= LEAST_ROUNDS:
        assert missed_of("scale") == {}


def _table(carried: dict[int, Carried]) -> Table:
    columns = ("sessions", "take-up, s", "its CPU, s", "form p95, ms", "home p95, ms")
    more = ("start p95, s", "failed starts", "failed pages", "longest step, ms", "above 50 ms")
    return Table(
        title="By size; the last columns are steps of the event loop and the hub's process",
        columns=(*columns, *more, "CPU cores", "MiB"),
        rows=[
            (
                *(n_sessions, one.take_up_s, one.take_up_cpu_s, one.form_p95_ms, one.home_p95_ms),
                *(
                    one.start_p95_s,
                    one.n_failed_starts,
                    one.n_failed_pages,
                    one.loop_stop_max_ms,
                    one.n_stops,
                    one.cpu_cores,
                    one.rss_mib,
                ),
            )
            for n_sessions, one in carried.items()
        ],
    )
