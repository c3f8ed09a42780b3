#!/usr/bin/env python3
"""The first minute of a class: everybody opens its link, logs in and starts a session.

On the demo portal alone. The figures go to docs/benchmarks/lesson.json.
"""

import argparse
import asyncio
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "portal/dsportal"))

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

from tests.lab.benchmarks.report import Table, write_report
from tests.lab.benchmarks.rounds import Rounds, p95
from tests.lab.benchmarks.rush.people import people
from tests.lab.benchmarks.rush.rush import PORTAL, Round, Rush, play

N_PEOPLE = 60
MINUTE = Rush("", 60.0)
LINK = "/hub/spawn?gpus=1&hours=1&fixed=1"
# What it is, by step.
STEPS = {
    "link": "the link of the class, answered",
    "login page": "the page of the login, answered",
    "login": "login with name and password, answered",
    "form": "the page with nothing to choose, answered",
    "start answered": "'Start' pressed until the page of the start",
    "ready": "'Start' pressed until the session answers",
    "stop answered": "the stop of the session, answered",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the figures and write them.

    Returns:
        0 if nobody met an error.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args(argv)
    with people(N_PEOPLE) as everybody:
        found = []
        # The first one fills caches, and is left out.
        for number in range(arguments.rounds + 1):
            found.append(asyncio.run(play(everybody, PORTAL, MINUTE, LINK)))
            print(f"round {number} of {arguments.rounds}", flush=True)
    errors = [met.error for one in found for met in one.visits if met.error]
    print(*errors, sep="\n", file=sys.stderr)
    report(found[1:], n_errors=len(errors))
    return 1 if errors else 0


def report(found: Sequence[Round], n_errors: int) -> None:
    """Write docs/benchmarks/lesson.json."""
    of_step = {step: Rounds([p95(seconds_of(one, step)) for one in found], 2) for step in STEPS}
    figures = {f"{step.replace(' ', '_')}_p95_s": each for step, each in of_step.items()}
    words = {
        name: f"{words}: 95th percentile of the {N_PEOPLE}, seconds"
        for name, words in zip(figures, STEPS.values(), strict=True)
    }
    figures["health_max_s"] = Rounds([max(one.health_s) for one in found], 2)
    rows = [
        [
            step,
            *(
                Rounds([at(seconds_of(one, step)) for one in found], 2).text
                for at in (statistics.median, p95)
            ),
        ]
        for step in STEPS
    ]
    write_report(
        "lesson",
        title="The first minute of a class",
        rounds=len(found),
        figures={**{name: each.median for name, each in figures.items()}, "n_errors": n_errors},
        spread={name: each.spread for name, each in figures.items()},
        words={
            **words,
            "health_max_s": "longest wait of a request that needs no database, s",
            "n_errors": "users who met an error, all rounds",
        },
        tables=[
            Table(
                title=f"Seconds of each step for {N_PEOPLE} users: median (least to most)",
                columns=("step", "p50", "p95"),
                rows=rows,
            )
        ],
        notes=(
            f"{N_PEOPLE} users open the link of a class, spread evenly over a minute, log in and"
            " start a session with one GPU. Each stops it when it is ready, so that the next one"
            " finds room on 8 simulated GPUs.",
            "Hub, proxy, directory, Slurm, its nodes, all notebook servers and the program that"
            " plays the users share this one machine.",
            "A first round with cold caches is left out.",
        ),
    )


def seconds_of(one: Round, step: str) -> list[float]:
    """Return how long a step took for each user who came that far."""
    return [met.took_s[step] for met in one.visits if step in met.took_s]


if __name__ == "__main__":
    sys.exit(main())
