#!/usr/bin/env python3
"""How long users wait for pages when many log in and start within a minute on the demo cluster.

Real hub, proxy, slapd and Slurm, real notebook servers; the users are made for it and removed.
The figures go to docs/benchmarks/rush.json.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import requests
from tornado.httpclient import AsyncHTTPClient

from tests.benchmarks.report import Table, write_report
from tests.benchmarks.rush.people import Person, people
from tests.benchmarks.rush.visit import ADDRESS, Visit, visit

N_PEOPLE = 60
WITHIN_S = 60.0
# Of the second rush, in which starts have to stand in line.
AT_ONCE_WITHIN_S = 3.0
HEALTH_EVERY_S = 0.1
STEPS = ("login page", "login", "home", "form", "start answered", "ready", "stop answered")
WORDS = {
    "login_p95_s": "login with name and password, answered, 95th percentile, s",
    "form_p95_s": "the form, likewise",
    "home_p95_s": "the home page, likewise",
    "start_answered_p95_s": "'Start' pressed until the page of the start, likewise",
    "ready_p50_s": "'Start' pressed until the session answers, median, s",
    "ready_p95_s": "likewise, 95th percentile",
    "health_max_s": "longest wait of a request that needs no database, s",
    "n_errors": "users who met an error",
    "at_once_login_p95_s": "at once: login, answered, 95th percentile, s",
    "at_once_form_p95_s": "at once: the form, likewise",
    "at_once_health_max_s": "at once: longest wait of a request that needs no database, s",
    "at_once_ready_p95_s": "at once: 'Start' pressed until the session answers, likewise",
    "at_once_n_errors": "at once: users who met an error",
    "at_once_n_told_place": "at once: users who were told their place in line",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the figures and write them.

    Returns:
        0 if nobody met an error.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=N_PEOPLE)
    parser.add_argument("--no-report", action="store_true", help="write no docs/benchmarks file")
    arguments = parser.parse_args(argv)
    load = os.getloadavg()[0]
    with people(arguments.people) as everybody:
        spread_out, health_s = asyncio.run(rush(everybody, WITHIN_S))
        at_once, at_once_health_s = asyncio.run(rush(everybody, AT_ONCE_WITHIN_S))
    visits = [*spread_out, *at_once]
    figures, table = summarize(spread_out, health_s, title="Seconds of each step")
    of_line, at_once_table = summarize(
        at_once, at_once_health_s, title="Seconds of each step, all at once"
    )
    told = {f"at_once_{name}": value for name, value in of_line.items()}
    figures |= {name: value for name, value in told.items() if name in WORDS}
    figures["at_once_n_told_place"] = sum(bool(met.places) for met in at_once)
    if arguments.no_report:
        for each in (table, at_once_table):
            print(f"{each.title}\n{each.columns}", *each.rows, sep="\n")
        print(figures)
    else:
        write_report(
            "rush",
            title="A rush of logins and starts",
            figures=figures,
            words=WORDS,
            tables=(table, at_once_table),
            notes=(
                f"{arguments.people} users log in and start a session with one GPU, spread evenly"
                f" over {WITHIN_S:g} s; each stops it when it is ready, so that the next one finds"
                " room.",
                f"At once: the same users come again, within {AT_ONCE_WITHIN_S:g} s.",
                "Hub, proxy, directory, Slurm, its nodes and all notebook servers share this one"
                " machine, and the program that plays the users, too; 'ready' is mostly"
                " JupyterLab's own start.",
                "JupyterHub itself waits up to 1 s for the first error of a start before it"
                " answers.",
                f"The load of the machine was {load:.1f} before.",
            ),
        )
    for met in visits:
        if met.error:
            print(met.error, file=sys.stderr)
    return 1 if any(met.error for met in visits) else 0


async def rush(everybody: Sequence[Person], within_s: float) -> tuple[list[Visit], list[float]]:
    """Let everybody come, one after the other.

    Args:
        everybody: The users.
        within_s: Seconds from the first to the last; 0 for all at once.

    Returns:
        What each met, and the seconds that each request for the hub's health took meanwhile.
    """
    client = AsyncHTTPClient(force_instance=True, max_clients=2 * len(everybody) + 10)
    health_s: list[float] = []

    async def come(number: int, person: Person) -> Visit:
        await asyncio.sleep(number * within_s / len(everybody))
        return await visit(person, client, {"gpus": "1", "hours": "1"})

    async def watch() -> None:
        while True:
            before = time.monotonic()
            await client.fetch(f"{ADDRESS}/hub/health", request_timeout=120)
            health_s.append(time.monotonic() - before)
            await asyncio.sleep(HEALTH_EVERY_S)

    watcher = asyncio.ensure_future(watch())
    try:
        visits = await asyncio.gather(*(come(*each) for each in enumerate(everybody)))
    finally:
        watcher.cancel()
        client.close()
    return list(visits), health_s


def summarize(
    visits: Sequence[Visit], health_s: Sequence[float], *, title: str
) -> tuple[dict[str, float], Table]:
    """Return the figures, and a table of all steps.

    Args:
        visits: What each user met.
        health_s: Seconds of each request for the hub's health.
        title: Of the table.
    """
    times = {
        step: sorted(met.took_s[step] for met in visits if step in met.took_s) for step in STEPS
    }
    times["health"] = sorted(health_s)
    rows = [
        (step, *(round(value, 2) for value in (statistics.median(all_s), p95(all_s), all_s[-1])))
        for step, all_s in times.items()
        if all_s
    ]
    found = {row[0]: row[1:] for row in rows}
    figures = {
        **{
            f"{step.replace(' ', '_')}_p95_s": found[step][1]
            for step in ("login", "home", "form", "start answered")
            if step in found
        },
        **(
            {"ready_p50_s": found["ready"][0], "ready_p95_s": found["ready"][1]}
            if "ready" in found
            else {}
        ),
        "health_max_s": found["health"][2],
        "n_errors": sum(bool(met.error) for met in visits),
    }
    table = Table(title=title, columns=("step", "p50", "p95", "most"), rows=rows)
    return figures, table


def p95(sorted_s: Sequence[float]) -> float:
    """Return the 95th percentile by nearest rank."""
    return sorted_s[max(0, -(-95 * len(sorted_s) // 100) - 1)]


if __name__ == "__main__":
    requests.get(f"{ADDRESS}/hub/health", timeout=10).raise_for_status()
    sys.exit(main())
