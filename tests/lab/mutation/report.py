"""What the suite leaves behind: docs/benchmarks/mutation.json.

The score of the held-out sample is a figure beside that of the usual one, with a commit of its own.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from typing import Any

from tests.lab.benchmarks.machine import read_machine
from tests.lab.benchmarks.report import RESULTS_DIR, Table
from tests.lab.mutation.modules import MODULES
from tests.lab.mutation.sampled_mutmut import HELD_OUT, Sample
from tests.lab.mutation.score import Score, total

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
    "`tests/lab/mutation/equivalents.toml`",
}
HELD_OUT_FIGURE = "mutation_score_held_out"
HELD_OUT_WORDS = (
    "the same share of other mutants, for which no test had been written when they were tried"
)
NOTES = (
    "Each module is tested with its own tests only. mutmut changes the inside of functions, but "
    "neither decorated ones, such as properties, nor code outside of functions. Lines that "
    "only write to the log are left out.",
    "`portal/dsportal/dsportal/data/shards.py` and "
    "`portal/dsportal/dsportal/frameworks/horovod_optimizer.py` are run by their tests with "
    "the TensorFlow, Keras and Horovod of the kernel, the latter on two ranks.",
)


def report_of(
    scores: Mapping[str, Score], sample: Sample, machine: Mapping[str, Any], tool: str
) -> dict[str, Any]:
    """Return what is written, for `scores` by the paths of the modules."""
    overall = total(list(scores.values()))
    return {
        "title": "Mutation of important modules",
        "machine": dict(machine),
        "date": date.today().isoformat(),
        "command": "tests/run mutation",
        "tool": tool,
        "sample": _described(sample),
        "figures": {"mutation_score": overall.percent, **_counts(overall)},
        "words": WORDS,
        "modules": _by_module(scores),
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
        "notes": [_sample_note(sample, tool), *NOTES, *_missing(scores)],
    }


def held_out_of(
    scores: Mapping[str, Score], sample: Sample, machine: Mapping[str, Any], tool: str
) -> dict[str, Any]:
    """Return what a run with the held-out sample found; see `with_held_out`."""
    overall = total(list(scores.values()))
    return {
        "machine": dict(machine),
        "date": date.today().isoformat(),
        "command": f"tests/run mutation -- {HELD_OUT} --sample {sample.n_most}",
        "tool": tool,
        "sample": _described(sample),
        "mutation_score": overall.percent,
        **_counts(overall),
        "modules": _by_module(scores),
    }


def with_held_out(report: Mapping[str, Any], held_out: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report with the score of a held-out sample beside its own, in place of an older."""
    before = report.get("held_out")
    notes = [note for note in report["notes"] if before is None or note != _held_out_note(before)]
    return {
        **report,
        "figures": {**report["figures"], HELD_OUT_FIGURE: held_out["mutation_score"]},
        "words": {**report["words"], HELD_OUT_FIGURE: HELD_OUT_WORDS},
        "notes": [*notes, _held_out_note(held_out)],
        "held_out": dict(held_out),
    }


def _held_out_note(found: Mapping[str, Any]) -> str:
    n_noticed = found["killed"] + found["timed_out"]
    n_all = n_noticed + found["survived"] + found["no_tests"]
    return (
        f"Held out: {n_noticed} of {n_all} mutants noticed, at most"
        f" {found['sample']['most_per_module']} of each module, on {found['date']} at commit"
        f" {found['machine']['commit'][:7]}, with `{found['command']}`. None of them is in the"
        " usual sample. Tests may have been written since for those that survived."
    )


def _described(sample: Sample) -> dict[str, Any] | None:
    return {"most_per_module": sample.n_most, "seed": sample.seed} if sample.n_most else None


def _by_module(scores: Mapping[str, Score]) -> dict[str, dict[str, Any]]:
    return {
        path: {"mutation_score": score.percent, **_counts(score)} for path, score in scores.items()
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


def _sample_note(sample: Sample, tool: str) -> str:
    if not sample.n_most:
        return f"All mutants of {tool}."
    return (
        f"Of the mutants of {tool} at most {sample.n_most} of each module: those whose names have "
        f"the least SHA-256 with the seed {sample.seed}, so that the sample is always the same. "
        "Modules with more mutants have no more weight. Tests have been written for mutants of "
        "this sample that survived. Of all mutants fewer may be noticed."
    )


def write_report(scores: Mapping[str, Score], sample: Sample) -> None:
    """Write the file and print the figures."""
    before = json.loads(PATH.read_text()) if PATH.exists() else {}
    machine, tool = asdict(read_machine()), f"mutmut {version('mutmut')}"
    if sample.is_held_out:
        report = with_held_out(before, held_out_of(scores, sample, machine, tool))
    else:
        report = report_of(scores, sample, machine, tool)
        if held_out := before.get("held_out"):
            report = with_held_out(report, held_out)
    PATH.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps(report["figures"], indent=2))
