"""The form on 1,000 nodes, beside JupyterHub's own home page and the form of jupyterhub_moss.

All hubs run on this machine at the same time and are asked in turns, round by round. A program
stands in for Slurm's commands, so that only the hubs' own work is timed.
"""

import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Self

import requests

from tests.lab.benchmarks.pages.hubs import (
    MOSS,
    N_USERS,
    PORTAL,
    PORTAL_PYTHON,
    STOCK,
    RunningHub,
    moss_python,
    running_hub,
)
from tests.lab.benchmarks.pages.visits import SPAN_S, moments, visit, visit_at_once
from tests.lab.benchmarks.report import LEAST_ROUNDS, Table, missed_of, write_report
from tests.lab.benchmarks.rounds import Rounds, p95
from tests.lab.benchmarks.spawner.load import cpu_s

N_NODES = 1000
N_NODES_SMALL = 100
TRICKLE_S = 2.0

WORDS = {
    "form_p95_ms": f"response time of the form on {N_NODES:,} nodes, 95th percentile of {N_USERS} "
    f"users who ask at random moments within {SPAN_S:g} s, ms",
    "form_p95_ms_100_nodes": f"the same on {N_NODES_SMALL} nodes",
    "stock_home_p95_ms": "the same for the home page of JupyterHub as it comes",
    "moss_form_p95_ms": f"the same for the form of jupyterhub_moss on {N_NODES:,} nodes",
    "burst_p95_ms": f"response time of the form, 95th percentile of {N_USERS} users who ask at the "
    "same moment, ms",
    "burst_p95_ms_100_nodes": f"the same on {N_NODES_SMALL} nodes",
    "stock_home_burst_p95_ms": "the same for the home page of JupyterHub as it comes",
    "burst_vs_stock_home": "form over that home page in the same round, all at the same moment",
    "form_cpu_ms": f"CPU time of the hub and its commands for a form on {N_NODES:,} nodes, users "
    f"within {SPAN_S:g} s, ms",
    "stock_home_cpu_ms": "the same for the home page of JupyterHub as it comes",
    "slurm_calls_per_min": "all Slurm commands that the portal's hub ran a minute (sinfo, sbatch "
    "--test-only, scontrol, sacctmgr) over the rounds (besides their users, somebody asked for the "
    f"form every {TRICKLE_S:g} s)",
    "moss_slurm_calls_per_100_forms": "all Slurm commands of jupyterhub_moss for 100 forms",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One page of one hub.

    Attributes:
        page: "spawn" for the form, or "home".
    """

    name: str
    hub: RunningHub
    page: str
    has_burst: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured, by name of the case.

    Attributes:
        apart: 95th percentile in ms of users who ask at moments of their own.
        at_once: 95th percentile in ms of users who ask at the same moment.
        cpu: CPU time of the hub and its commands in ms for each page, users as in `apart`.
    """

    apart: Mapping[str, Rounds]
    at_once: Mapping[str, Rounds]
    cpu: Mapping[str, Rounds]


def test_the_form_is_quick_on_a_thousand_nodes(rounds: int) -> None:
    with running_cases() as cases:
        with Trickle(cases[0].hub) as trickle:
            # The first round also fills caches.
            measure(cases, 1)
            trickle.forget()
            found = measure(cases, rounds)
            n_calls = trickle.count_per_min()
        moss = cases[-1]
        n_moss_calls = _calls_of_visit(moss)

    report(found, n_calls=n_calls, n_moss_calls=n_moss_calls, rounds=rounds)
    if rounds >= LEAST_ROUNDS:
        assert missed_of("pages") == {}


@contextmanager
def running_cases() -> Iterator[list[Case]]:
    """Run all hubs until the benchmark has ended."""
    stock_python = moss_python()
    with ExitStack() as stack:

        def start(config: str, n_nodes: int) -> RunningHub:
            python = PORTAL_PYTHON if config is PORTAL else stock_python
            return stack.enter_context(running_hub(config, python=python, n_nodes=n_nodes))

        yield [
            Case("form", start(PORTAL, N_NODES), "spawn"),
            Case("form_small", start(PORTAL, N_NODES_SMALL), "spawn"),
            Case("stock_home", start(STOCK, N_NODES_SMALL), "home"),
            # It runs sinfo for each form, so that its users wait for each other either way.
            Case("moss", start(MOSS, N_NODES), "spawn", has_burst=False),
        ]


def measure(cases: list[Case], n_rounds: int) -> Found:
    """Ask the hubs in turns, each `n_rounds` times."""
    # What a hub that has just started still has to learn is no part of its daily work.
    for case in cases:
        visit(case.hub, case.page, [0.0])
    apart: dict[str, list[float]] = defaultdict(list)
    at_once: dict[str, list[float]] = defaultdict(list)
    cpu: dict[str, list[float]] = defaultdict(list)
    for number in range(n_rounds):
        # Who comes first takes turns, as the machine may be busy for a while.
        first = number % len(cases)
        for case in [*cases[first:], *cases[:first]]:
            before_s = cpu_s(case.hub.pid)
            apart[case.name].append(p95(visit(case.hub, case.page, moments(N_USERS, number))))
            cpu[case.name].append((cpu_s(case.hub.pid) - before_s) * 1000 / N_USERS)
            if case.has_burst:
                at_once[case.name].append(p95(visit_at_once(case.hub, case.page)))
        took = ", ".join(f"{name} {values[-1]:.1f} ms" for name, values in apart.items())
        print(f"round {number + 1} of {n_rounds}: {took}", flush=True)
    return Found(_rounds(apart), _rounds(at_once), _rounds(cpu))


class Trickle:
    """Asks a hub for the form all the time, so that none of its answers may rest for long."""

    def __init__(self, hub: RunningHub) -> None:
        self._hub = hub
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._began_s = time.monotonic()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def forget(self) -> None:
        """Count from here on."""
        self._began_s = time.monotonic()
        self._hub.slurm.forget_calls()

    def count_per_min(self) -> float:
        """Return how many Slurm commands the hub has run in a minute."""
        calls = self._hub.slurm.calls()
        for call in sorted(set(calls)):
            print(f"{calls.count(call)} times {call[:60]}", flush=True)
        return round(len(calls) * 60 / (time.monotonic() - self._began_s), 1)

    def _ask(self) -> None:
        cookies = itertools.cycle(self._hub.cookies)
        while not self._is_over.wait(TRICKLE_S):
            headers = {"Cookie": next(cookies)}
            requests.get(f"{self._hub.url}/spawn", headers=headers, timeout=60)


def report(found: Found, *, n_calls: float, n_moss_calls: int, rounds: int) -> None:
    """Write docs/benchmarks/pages.json."""
    apart, at_once = found.apart, found.at_once
    figures = {
        "form_p95_ms": apart["form"],
        "form_p95_ms_100_nodes": apart["form_small"],
        "stock_home_p95_ms": apart["stock_home"],
        "moss_form_p95_ms": apart["moss"],
        "burst_p95_ms": at_once["form"],
        "burst_p95_ms_100_nodes": at_once["form_small"],
        "stock_home_burst_p95_ms": at_once["stock_home"],
        "burst_vs_stock_home": at_once["form"].over(at_once["stock_home"]),
        "form_cpu_ms": found.cpu["form"],
        "stock_home_cpu_ms": found.cpu["stock_home"],
    }
    write_report(
        "pages",
        title="The form",
        rounds=rounds,
        figures={
            **{name: figure.median for name, figure in figures.items()},
            "slurm_calls_per_min": n_calls,
            "moss_slurm_calls_per_100_forms": n_moss_calls,
        },
        spread={name: figure.spread for name, figure in figures.items()},
        words=WORDS,
        tables=(_table(apart, at_once),),
        notes=(
            "The hubs run at the same time and are asked in turns. Each figure is the median over "
            "the rounds of a round's 95th percentile.",
            "Requests go to the hub itself, without proxy and TLS. Time counts from the moment at "
            "which a user wants to ask, so it includes the wait for the others.",
            "Fake Slurm commands print prepared output, so only the hubs' own work is measured.",
            "Stock is JupyterHub of the same release, with its own pages and spawner.",
        ),
    )


def _calls_of_visit(case: Case) -> int:
    case.hub.slurm.forget_calls()
    visit(case.hub, case.page, moments(N_USERS, 0))
    return len(case.hub.slurm.calls())


def _rounds(values: Mapping[str, list[float]]) -> dict[str, Rounds]:
    return {name: Rounds(of_case) for name, of_case in values.items()}


def _table(apart: Mapping[str, Rounds], at_once: Mapping[str, Rounds]) -> Table:
    names = {
        "form": f"portal's form, {N_NODES:,} nodes",
        "form_small": f"portal's form, {N_NODES_SMALL} nodes",
        "stock_home": "JupyterHub's home page",
        "moss": f"jupyterhub_moss's form, {N_NODES:,} nodes",
    }
    rows = [
        (title, apart[name].text, at_once[name].text if name in at_once else "not measured")
        for name, title in names.items()
    ]
    return Table(
        title=f"95th percentile of {N_USERS} users, ms: median (least to most of the rounds)",
        columns=("", f"within {SPAN_S:g} s", "all at once"),
        rows=rows,
    )
