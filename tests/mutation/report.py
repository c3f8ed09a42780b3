"""What the suite leaves behind: docs/benchmarks/mutation.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from typing import Any

from tests.benchmarks.machine import read_machine
from tests.benchmarks.report import RESULTS_DIR, Table
from tests.mutation.modules import MODULES
from tests.mutation.sampled_mutmut import SEED
from tests.mutation.score import Score, total

PATH = RESULTS_DIR / "mutation.json"
COLUMNS = ("module", "noticed, %", "killed", "timed out", "survived", "no tests", "equivalent")
WORDS = {
    "mutation_score": "mutants that the tests of their module notice, %: killed or timed out, of "
    "all but the equivalent ones",
    "killed": "mutants with which a test fails",
    "timed_out": "mutants with which the tests do not end",
    "survived": "mutants with which all tests pass",
    "no_tests": "mutants in functions that no test of the module calls",
    "equivalent": "mutants that nobody can notice, listed with the reasons in "
    "`tests/mutation/equivalents.toml`",
}
NOTES = (
    "Each module is tested with its own tests only. mutmut changes the inside of functions, but "
    "neither decorated ones, such as properties, nor what stands outside of functions. Lines that "
    "only write to the log are left out.",
    "Not tried: `portal/data/shards.py` and `portal/launch/frameworks/horovod_optimizer.py`, which "
    "need TensorFlow; their tests run in its kernel, in the suite templates.",
)


def report_of(
    scores: Mapping[str, Score], n_most: int, machine: Mapping[str, Any], tool: str
) -> dict[str, Any]:
    """Return what is written, for `scores` by the paths of the modules.

    `n_most` is the size of the sample of each module, 0 for all mutants.
    """
    overall = total(list(scores.values()))
    return {
        "title": "Mutation of important modules",
        "machine": dict(machine),
        "date": date.today().isoformat(),
        "command": "tests/run mutation",
        "tool": tool,
        "sample": {"most_per_module": n_most, "seed": SEED} if n_most else None,
        "figures": {"mutation_score": overall.percent, **_counts(overall)},
        "words": WORDS,
        "modules": {
            path: {"mutation_score": score.percent, **_counts(score)}
            for path, score in scores.items()
        },
        "tables": [
            asdict(
                Table(
                    title="By module",
                    columns=COLUMNS,
                    rows=[
                        (f"`{path}`", score.percent, *_counts(score).values())
                        for path, score in scores.items()
                    ],
                )
            )
        ],
        "notes": [_sample_note(n_most, tool), *NOTES, *_missing(scores)],
    }


def _missing(scores: Mapping[str, Score]) -> list[str]:
    missing = [f"`{module.path}`" for module in MODULES if module.path not in scores]
    return [f"Not measured in this run: {', '.join(missing)}."] if missing else []


def _counts(score: Score) -> dict[str, int]:
    return {
        "killed": score.n_killed,
        "timed_out": score.n_timed_out,
        "survived": score.n_survived,
        "no_tests": score.n_no_tests,
        "equivalent": score.n_equivalent,
    }


def _sample_note(n_most: int, tool: str) -> str:
    if not n_most:
        return f"All mutants of {tool}."
    return (
        f"Of the mutants of {tool} at most {n_most} of each module: those whose names have the "
        f"least SHA-256 with the seed {SEED}, so that the sample is always the same. Modules with "
        "more mutants have no more weight. Tests have been written for mutants of this sample that "
        "survived; of all mutants fewer may be noticed."
    )


def write_report(scores: Mapping[str, Score], n_most: int) -> None:
    """Write the file and print the figures."""
    report = report_of(scores, n_most, asdict(read_machine()), f"mutmut {version('mutmut')}")
    PATH.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps(report["figures"], indent=2))
