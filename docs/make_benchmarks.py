"""Write the pages of benchmarks in docs/explain from the figures in docs/benchmarks.

Run it from the root of the repository after a benchmark:

    python docs/make_benchmarks.py
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS_DIR = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS_DIR.parent), str(DOCS_DIR.parent / "portal/dsportal")]

from tests.lab.benchmarks.aims import aims_of  # noqa: E402
from tests.lab.benchmarks.history import Entry, Run, read_history, runs_by_benchmark  # noqa: E402

RESULTS_DIR = DOCS_DIR / "benchmarks"
# Of each benchmark the newest; the file has all.
N_RUNS_SHOWN = 5

_TOP = """\
# Benchmarks of portal and sessions

`docs/make_benchmarks.py` makes these pages from `docs/benchmarks/*.json`. Do not edit them by hand.
Each benchmark compares the portal with an alternative in one run on one machine. Compare the
ratios, not the seconds. GPUs are simulated unless the machine line says otherwise. A figure that
does not reach its aim says "missed".

* This page: form, logins, spawner, sessions, jobs, TensorBoard
* [Benchmarks of training](benchmarks-training.md): runs, templates, shards, inference
* [Faults and mutation](benchmarks-faults.md): losses in faults, and mistakes that tests notice
* [History of the benchmarks](benchmarks-history.md): earlier figures
"""
_BACK = "[Benchmarks of portal and sessions](benchmarks.md) explains these figures.\n"
# The first lines of each page, and its benchmarks.
_PAGES = {
    "benchmarks": (
        _TOP,
        ("pages", "rush", "spawner", "scale", "session", "lend", "jobs", "tensorboard"),
    ),
    "benchmarks-training": (
        f"# Benchmarks of training\n\n{_BACK}",
        ("training", "speedup", "templates", "storage", "inference", "gpu"),
    ),
    "benchmarks-faults": (f"# Faults and mutation\n\n{_BACK}", ("faults", "mutation")),
}


def main() -> None:
    """Write the pages."""
    for name, text in render(_reports(), read_history()).items():
        (DOCS_DIR / f"explain/{name}.md").write_text(text, encoding="utf-8")


def _reports() -> dict[str, Mapping[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS_DIR.glob("*.json"))}


def render(
    reports: Mapping[str, Mapping[str, Any]], history: Sequence[Entry] = ()
) -> dict[str, str]:
    """Return the Markdown text of each page, by its name.

    Args:
        reports: Content of each file, by name.
        history: Lines of history.jsonl.

    Raises:
        KeyError: If a report belongs to no page.
    """
    on_pages = {name for _, names in _PAGES.values() for name in names}
    if lost := reports.keys() - on_pages:
        raise KeyError(f"on no page: {', '.join(lost)}")
    pages = {
        page: "\n".join(
            [head, *(_section(name, reports[name]) for name in names if name in reports)]
        )
        for page, (head, names) in _PAGES.items()
    }
    return pages | {"benchmarks-history": "\n".join(_history(history))}


def _section(name: str, report: Mapping[str, Any]) -> str:
    words = report.get("words", {})
    spread = report.get("spread", {})
    aims = aims_of(name, report["figures"])
    rows = [
        (
            f"`{figure}`",
            value,
            *((aims[figure].words(value) if figure in aims else "",) if aims else ()),
            *(_spread(spread.get(figure)) if spread else ()),
            words.get(figure, ""),
        )
        for figure, value in report["figures"].items()
    ]
    of_rounds = ("least", "most", "rounds") if spread else ()
    lines = [
        f"## {report.get('title', name)}",
        "",
        f"{_machine(report['machine'])}; {report['date']}; `{report['command']}`",
        "",
        *_table(("figure", "value", *(("aim",) if aims else ()), *of_rounds, "what it is"), rows),
    ]
    for table in report.get("tables", []):
        lines += ["", f"**{table['title']}**", "", *_table(table["columns"], table["rows"])]
    notes = report.get("notes", [])
    lines += ["", *(f"* {note}" for note in notes)] if notes else []
    return "\n".join(lines) + "\n"


def _spread(spread: Mapping[str, float | int] | None) -> tuple[float | int | str, ...]:
    return ("", "", "") if spread is None else (spread["least"], spread["most"], spread["rounds"])


def _history(entries: Sequence[Entry]) -> list[str]:
    top = f"""\
# History of the benchmarks

{_BACK}
Each run adds its figures to [history.jsonl](../benchmarks/history.jsonl). The figure is the median
of its rounds, with the least and the most of them. Figures without these have no recorded spread,
and their commit is that of the report.
"""
    tables = [
        "\n".join([f"## {name}", "", *_history_table(runs[-N_RUNS_SHOWN:])]) + "\n"
        for name, runs in runs_by_benchmark(entries).items()
    ]
    return [top, *tables]


def _history_table(runs: Sequence[Run]) -> list[str]:
    # The newest run first, since its figures are those of today.
    figures = dict.fromkeys(figure for run in reversed(runs) for figure in run.entries)
    rows = [
        (f"`{figure}`", *(_history_cell(run.entries.get(figure)) for run in runs))
        for figure in figures
    ]
    return _table(("figure", *map(_run_name, runs)), rows)


def _run_name(run: Run) -> str:
    changes = " with changes" if run.first.is_dirty else ""
    return f"{run.first.date}, `{run.first.commit[:7]}`{changes}, {run.first.cpu}"


def _history_cell(entry: Entry | None) -> str:
    if entry is None:
        return ""
    if entry.least is None:
        return f"{entry.median}"
    return f"{entry.median} ({entry.least} to {entry.most})"


def _machine(machine: str | Mapping[str, Any]) -> str:
    """Return one line about the machine; reports before 2026-11-22 hold it as a line."""
    if isinstance(machine, str):
        return machine
    flags = f" ({', '.join(machine['flags'])})" if machine["flags"] else ""
    commit = f"commit {machine['commit'][:7]}{' with changes' if machine['is_dirty'] else ''}"
    threads = machine["threads_per_core"]
    return (
        f"{machine['n_cores']} cores of {machine['cpu']}{flags}, {threads} thread"
        f"{'' if threads == 1 else 's'} a core, {machine['memory_gib']} GiB, {machine['system']};"
        f" {commit}"
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = [_row(columns), "|" + "---|" * len(columns)]
    return [*lines, *(_row(row) for row in rows)]


def _row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(str(cell).replace("|", r"\|") for cell in cells) + " |"


if __name__ == "__main__":
    main()
