#!/usr/bin/env python3
"""What each tool of a session adds to its start and its memory: all, none, and each alone.

The program of the job, `dsportal-singleuser`, is started as a user, with the settings that the hub
would tell it; the hub is a program that answers at once. In each round every variant is started
once, in another order. The figures go to docs/benchmarks/session.json.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "portal/dsportal"))

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

from tests.lab.benchmarks.report import LEAST_ROUNDS, Table, write_report
from tests.lab.benchmarks.rounds import Rounds
from tests.lab.benchmarks.session.server import Start, measure_start
from tests.lab.benchmarks.session.stand_in_hub import StandInHub, running_hub
from tests.lab.benchmarks.session.tools import OFF, ON, TOOLS

VARIANTS = (OFF, *TOOLS, ON)
WORDS = {
    "start_all_s": "from the execution of the session's program to its first answer, all tools "
    "on, seconds",
    "start_none_s": "the same, all of them off",
    "start_all_vs_none": "ratio of the two, round by round",
    "cpu_all_s": "CPU time of the server and its children until then, all tools on, seconds of "
    "one core",
    "cpu_none_s": "the same, all of them off",
    "cpu_all_vs_none": "ratio of the two, round by round",
    "rss_all_mib": "memory of the server alone after its first answer, all tools on, MiB",
    "rss_none_mib": "the same, all of them off",
    "pss_all_mib": "memory of the server and its children after its first answer, pages that "
    "several have divided among them, all tools on, MiB",
    "pss_none_mib": "the same, all of them off",
    "page_pss_all_mib": "the same after JupyterLab's first page, all tools on: a TensorBoard "
    "stands by then",
    "page_pss_none_mib": "the same, all of them off",
}
NOTES = (
    "Without Slurm, hub, proxy and browser: a program answers in place of the hub, and the page's "
    "requests are sent one after another.",
    "A home is new at each start, without templates of a site.",
    "code-server and MLflow start when their tab is opened. Their needs from then on are not "
    "included.",
    "The routes of TensorBoard, runs and previews are always there: `none` lacks only the "
    "programs that their settings and pages start.",
)


def main(argv: Sequence[str]) -> int:
    """Measure and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    n_rounds: int = parser.parse_args(argv).rounds
    with running_hub() as hub:
        # The first reads everything from the disk.
        measure_start(hub, ON)
        starts = measure(hub, n_rounds)
    figures = figures_of(starts)
    write_report(
        "session",
        title="What a session's tools add",
        figures={name: rounds.median for name, rounds in figures.items()},
        words=WORDS,
        spread={name: rounds.spread for name, rounds in figures.items()},
        rounds=n_rounds,
        tables=[table_of(starts)],
        notes=NOTES,
    )
    return 0


def measure(hub: StandInHub, n_rounds: int) -> dict[str, list[Start]]:
    """Return the starts of each variant, one for each round."""
    starts: dict[str, list[Start]] = {variant: [] for variant in VARIANTS}
    for number in range(n_rounds):
        # Who comes first takes turns.
        at = number * len(VARIANTS) // max(n_rounds, 1)
        for variant in (*VARIANTS[at:], *VARIANTS[:at]):
            start = measure_start(hub, variant)
            starts[variant].append(start)
            print(
                f"round {number + 1} of {n_rounds}, {variant}: {start.start_s:.2f} s,"
                f" {start.started.pss:.0f} MiB, {start.shown.pss:.0f} MiB with a page",
                flush=True,
            )
    return starts


def figures_of(starts: Mapping[str, Sequence[Start]]) -> dict[str, Rounds]:
    """Return the figures of the report."""
    found: dict[str, Rounds] = {}
    for variant in (ON, OFF):
        ran = starts[variant]
        found[f"start_{variant}_s"] = Rounds([start.start_s for start in ran], 3)
        found[f"cpu_{variant}_s"] = Rounds([start.cpu_s for start in ran], 3)
        found[f"rss_{variant}_mib"] = Rounds([start.started.rss for start in ran])
        found[f"pss_{variant}_mib"] = Rounds([start.started.pss for start in ran])
        found[f"page_pss_{variant}_mib"] = Rounds([start.shown.pss for start in ran])
    for kind in ("start", "cpu"):
        ratio = found[f"{kind}_{ON}_s"].over(found[f"{kind}_{OFF}_s"], 3)
        found[f"{kind}_{ON}_vs_{OFF}"] = ratio
    return {name: found[name] for name in WORDS}


def table_of(starts: Mapping[str, Sequence[Start]]) -> Table:
    """Return what each variant adds to the one without tools."""
    without = starts[OFF]
    rows = []
    for variant in (*TOOLS, ON):
        pairs = list(zip(starts[variant], without, strict=True))
        added_s = Rounds([ours.start_s - bare.start_s for ours, bare in pairs], 3)
        added_cpu_s = Rounds([ours.cpu_s - bare.cpu_s for ours, bare in pairs], 3)
        memory = (
            Rounds([ours.started.rss - bare.started.rss for ours, bare in pairs]),
            Rounds([ours.started.pss - bare.started.pss for ours, bare in pairs]),
            Rounds([ours.shown.pss - bare.shown.pss for ours, bare in pairs]),
        )
        table = TOOLS[variant].table if variant in TOOLS else "all of them"
        rows.append((table, added_s.text, added_cpu_s.text, *(each.text for each in memory)))
    return Table(
        title="What each adds to a session without any: median (least to most)",
        columns=(
            *("tool", "start, s", "CPU of the start, s", "RSS, MiB", "PSS, MiB"),
            "PSS after the first page, MiB",
        ),
        rows=rows,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
