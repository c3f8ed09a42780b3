"""What the suite leaves behind: docs/benchmarks/mutation.json."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from typing import Any

from tests.lab.benchmarks.machine import read_machine
from tests.lab.benchmarks.report import RESULTS_DIR, Table
from tests.lab.mutation.mutants import Outcome
from tests.lab.mutation.sampled_mutmut import Sample

PATH = RESULTS_DIR / "mutation.json"
COUNTED = (Outcome.KILLED, Outcome.TIMED_OUT, Outcome.SURVIVED, Outcome.NO_TESTS)
NOTICED = (Outcome.KILLED, Outcome.TIMED_OUT)
WORDS = {
    "mutation_score": "mutants that the tests of their module notice, %: killed or timed out",
    "killed": "mutants with which a test fails",
    "timed_out": "mutants with which the tests do not end",
    "survived": "mutants with which all tests pass",
    "no_tests": "mutants in functions that no test of the module calls",
}
NOTES = (
    "Each module is tested with its own tests only. mutmut changes the inside of functions, but "
    "neither decorated ones, such as properties, nor code outside of functions. Lines that "
    "only write to the log are left out. Some mutants change nothing that anybody can notice.",
    "`portal/dsportal/dsportal/data/shards.py` and "
    "`portal/dsportal/dsportal/frameworks/horovod_optimizer.py` are run by their tests with "
    "the TensorFlow, Keras and Horovod of the kernel, the latter on two ranks.",
)


def percent_noticed(outcomes: Iterable[Outcome]) -> float:
    counts = Counter(outcomes)
    n_all = sum(counts[outcome] for outcome in COUNTED)
    return round(100 * sum(counts[outcome] for outcome in NOTICED) / n_all, 1) if n_all else 100.0


def report_of(found: Mapping[str, list[Outcome]], sample: Sample) -> dict[str, Any]:
    """Return what is written, for outcomes by the paths of the modules."""
    everything = [outcome for outcomes in found.values() for outcome in outcomes]
    tool = f"mutmut {version('mutmut')}"
    most = f"at most {sample.n_most}" if sample.n_most else "all"
    table = Table(
        title="By module",
        columns=("module", "noticed, %", "killed", "timed out", "survived", "no tests"),
        rows=[
            (f"`{path}`", percent_noticed(outcomes), *map(outcomes.count, COUNTED))
            for path, outcomes in found.items()
        ],
    )
    counts = dict(zip(list(WORDS)[1:], map(everything.count, COUNTED), strict=True))
    return {
        "title": "Mutation of important modules",
        "machine": asdict(read_machine()),
        "date": date.today().isoformat(),
        "command": "tests/run mutation",
        "tool": tool,
        "figures": {"mutation_score": percent_noticed(everything), **counts},
        "words": WORDS,
        "tables": [asdict(table)],
        "notes": [f"Of the mutants of {tool} {most} of each module, drawn by the commit.", *NOTES],
    }


def write_report(found: Mapping[str, list[Outcome]], sample: Sample) -> None:
    """Write the file and print the figures."""
    report = report_of(found, sample)
    PATH.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps(report["figures"], indent=2))
