#!/usr/bin/env python3
"""How long users wait who log in and start within seconds: the portal, and stock JupyterHub.

The demo portal and a JupyterHub with batchspawner take turns on the same Slurm, directory and
machine, with the same users. Then a whole class comes to the portal by one link. The figures go to
docs/benchmarks/rush.json.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "portal/dsportal"))

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

from tornado.httpclient import AsyncHTTPClient

from tests.lab.benchmarks.report import Table, write_report
from tests.lab.benchmarks.rounds import Rounds, p95
from tests.lab.benchmarks.rush.people import Person, people
from tests.lab.benchmarks.rush.stock import stock_hub
from tests.lab.benchmarks.rush.visit import Visit, visit

N_PEOPLE = 16
N_IN_CLASS = 60
PORTAL = "http://127.0.0.1:8000"
HEALTH_EVERY_S = 0.1
STEPS = ("login page", "login", "home", "form", "start answered", "ready", "stop answered")
CLASS_STEPS = ("link", *(step for step in STEPS if step != "home"))
CLASS_LINK = "/hub/spawn?gpus=1&hours=1&fixed=1"


@dataclass(frozen=True, slots=True)
class Rush:
    """How the users come.

    Attributes:
        name: Before the figures; empty for those that are named first.
        link: Leads to the form by way of the login; without it users come by the home page.
    """

    name: str
    within_s: float
    link: str = ""


RUSHES = (Rush("", N_PEOPLE), Rush("at_once_", 1.0))
CLASS = Rush("class_", 60.0, CLASS_LINK)
WORDS = {
    "login_vs_stock": "login with name and password, answered, 95th percentile, relative to stock",
    "home_vs_stock": "the home page, likewise",
    "form_vs_stock": "the form, likewise (stock's has two fields and asks Slurm nothing)",
    "start_answered_vs_stock": "'Start' pressed until the page of the start, likewise",
    "ready_vs_stock": "'Start' pressed until the session answers, median, likewise",
    "n_errors": "users of the portal who met an error, all rounds",
    "stock_n_errors": "users of stock who met an error, all rounds",
    "health_max_s": "longest wait of a request to the portal that needs no database, s",
    "at_once_n_told_place": "at once: users of a round who were told their place in line",
    "class_ready_p95_s": f"a class of {N_IN_CLASS}: 'Start' pressed until the session answers, 95th"
    " percentile, s",
}
WORDS |= {f"at_once_{name}": f"at once: {words}" for name, words in WORDS.items() if "_vs_" in name}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the figures and write them.

    Returns:
        0 if no user of the portal met an error.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    n_rounds = parser.parse_args(argv).rounds
    with people(N_IN_CLASS) as everybody:
        few = everybody[:N_PEOPLE]
        with stock_hub([person.name for person in few]) as stock:
            found = asyncio.run(
                measure(few, {"portal": PORTAL, "stock": stock.public_url}, n_rounds)
            )
        asyncio.run(measure_class(everybody, found, n_rounds))
    report(found, n_rounds)
    errors = [met.error for each in found.values() for one in each for met in one.visits]
    print(*filter(None, errors), sep="\n", file=sys.stderr)
    return 1 if any(m.error for o in found["portal"] for m in o.visits) else 0


@dataclass(frozen=True, slots=True)
class Round:
    """One rush at one hub."""

    rush: Rush
    visits: Sequence[Visit]
    health_s: Sequence[float]


async def measure(
    everybody: Sequence[Person], addresses: Mapping[str, str], n_rounds: int
) -> dict[str, list[Round]]:
    """Let everybody come to each hub, in turns.

    The first round fills caches and the machine's memory of the servers' files. It is left out.
    """
    found: dict[str, list[Round]] = defaultdict(list)
    for number in range(n_rounds + 1):
        # Who comes first takes turns, as the machine may be busy for a while.
        names = list(addresses) if number % 2 else [*addresses][::-1]
        for rush in RUSHES:
            for name in names:
                one = await play(everybody, addresses[name], rush)
                if number:
                    found[name].append(one)
                ready = [v.took_s["ready"] for v in one.visits if "ready" in v.took_s]
                print(
                    f"round {number} of {n_rounds}, {name}, within {rush.within_s:g} s: "
                    f"ready {statistics.median(ready or [0]):.1f} s",
                    flush=True,
                )
    return found


async def measure_class(
    everybody: Sequence[Person], found: dict[str, list[Round]], n_rounds: int
) -> None:
    """Let a class come to the portal. Here too the first round is left out."""
    for number in range(n_rounds + 1):
        one = await play(everybody, PORTAL, CLASS)
        found["portal"] += [one] if number else []
        print(f"round {number} of {n_rounds}, a class", flush=True)


async def play(everybody: Sequence[Person], address: str, rush: Rush) -> Round:
    """Let everybody come to one hub, one after the other, and stop in the end."""
    client = AsyncHTTPClient(force_instance=True, max_clients=2 * len(everybody) + 10)
    health_s: list[float] = []

    async def come(number: int, person: Person) -> Visit:
        await asyncio.sleep(number * rush.within_s / len(everybody))
        return await visit(person, client, {"gpus": "1", "hours": "1"}, address, rush.link)

    async def watch() -> None:
        while True:
            before = time.monotonic()
            await client.fetch(f"{address}/hub/health", request_timeout=120)
            health_s.append(time.monotonic() - before)
            await asyncio.sleep(HEALTH_EVERY_S)

    watcher = asyncio.ensure_future(watch())
    try:
        visits = await asyncio.gather(*(come(*each) for each in enumerate(everybody)))
    finally:
        watcher.cancel()
        client.close()
    return Round(rush, visits, health_s)


def figures_of(found: Mapping[str, Sequence[Round]]) -> dict[str, Rounds]:
    """Return the ratios to stock, round by round, and what is counted of the portal."""
    figures: dict[str, Rounds] = {}
    for rush in RUSHES:
        portal, stock = (
            [one for one in found[name] if one.rush == rush] for name in ("portal", "stock")
        )
        for step in ("login", "home", "form", "start answered", "ready"):
            ours, theirs = (Rounds([_middle(one, step) for one in s], 2) for s in (portal, stock))
            figures[f"{rush.name}{step.replace(' ', '_')}_vs_stock"] = ours.over(theirs)
    at_once = [one for one in found["portal"] if one.rush == RUSHES[1]]
    told = [float(sum(bool(met.places) for met in one.visits)) for one in at_once]
    figures["at_once_n_told_place"] = Rounds(told, 0)
    longest = [max(one.health_s) for one in found["portal"] if one.rush != CLASS]
    figures["health_max_s"] = Rounds(longest, 2)
    classes = [p95(_seconds([one], "ready")) for one in found["portal"] if one.rush == CLASS]
    figures["class_ready_p95_s"] = Rounds(classes, 2)
    return figures


def _seconds(rounds: Sequence[Round], step: str) -> list[float]:
    return [met.took_s[step] for one in rounds for met in one.visits if step in met.took_s]


def _middle(one: Round, step: str) -> float:
    values = _seconds([one], step)
    return statistics.median(values) if step == "ready" else p95(values)


def report(found: Mapping[str, Sequence[Round]], n_rounds: int) -> None:
    """Write docs/benchmarks/rush.json."""
    figures = figures_of(found)
    errors = {
        f"{prefix}n_errors": sum(bool(m.error) for one in found[name] for m in one.visits)
        for name, prefix in (("portal", ""), ("stock", "stock_"))
    }
    write_report(
        "rush",
        title="A rush of logins and starts",
        rounds=n_rounds,
        figures={**{name: each.median for name, each in figures.items()}, **errors},
        spread={name: each.spread for name, each in figures.items()},
        words=WORDS,
        tables=[
            *(_table(found, rush, ("portal", "stock"), STEPS) for rush in RUSHES),
            _table(found, CLASS, ("portal",), CLASS_STEPS),
        ],
        notes=(
            f"{N_PEOPLE} users log in and start a session with one GPU, spread evenly over "
            f"{RUSHES[0].within_s:g} s, then all at once, within {RUSHES[1].within_s:g} s. Each "
            "stops it when it is ready, so that the next one finds room.",
            "Stock is JupyterHub with batchspawner, ldapauthenticator and its own proxy, in turns "
            "with the portal on the same Slurm, directory and machine. Its start time-out is 900 s "
            "instead of 60 s. The portal's sessions have TLS to the node and all their tools.",
            f"In the end a class of {N_IN_CLASS} opens its link, within {CLASS.within_s:g} s, at"
            " the portal alone.",
            "A first round of each, with cold caches, is left out.",
            "Hub, proxy, directory, Slurm, its nodes, all notebook servers and the program that "
            "plays the users share this one machine. 'Ready' is mostly the notebook server's own "
            "start.",
        ),
    )


def _table(
    found: Mapping[str, Sequence[Round]], rush: Rush, names: Sequence[str], steps: Sequence[str]
) -> Table:
    rows = []
    for step in steps:
        cells: list[str | float] = [step]
        for name in names:
            values = _seconds([one for one in found[name] if one.rush == rush], step)
            cells += [round(statistics.median(values), 2), round(p95(values), 2)]
        rows.append(cells)
    title = f"Seconds of each step, all rounds, users within {rush.within_s:g} s"
    if rush.link:
        title = f"{title}, by the link of a class"
    columns = ("step", *(f"{name} {part}" for name in names for part in ("p50", "p95")))
    return Table(title=title, columns=columns, rows=rows)


if __name__ == "__main__":
    sys.exit(main())
