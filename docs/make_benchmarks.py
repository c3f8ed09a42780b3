"""Write docs/benchmarks.md from the figures that the benchmarks left in docs/benchmarks.

Run it from the root of the repository after a benchmark:

    python docs/make_benchmarks.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS_DIR = Path(__file__).resolve().parent
RESULTS_DIR = DOCS_DIR / "benchmarks"

_TOP = """\
# Benchmarks

Made by `docs/make_benchmarks.py` from `docs/benchmarks/*.json`; do not edit it by hand. Each
benchmark measures the portal beside something else in one run on one machine: look at the ratios,
not at the seconds. Where GPUs appear they are simulated, unless the machine says otherwise.
"""


def main() -> None:
    """Write the page."""
    (DOCS_DIR / "benchmarks.md").write_text(render(_reports()), encoding="utf-8")


def _reports() -> dict[str, Mapping[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS_DIR.glob("*.json"))}


def render(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page.

    Args:
        reports: Content of each file, by name.

    Returns:
        Markdown.
    """
    parts = [_TOP, *(_section(name, report) for name, report in reports.items())]
    return "\n".join(parts)


def _section(name: str, report: Mapping[str, Any]) -> str:
    words = report.get("words", {})
    spread = report.get("spread", {})
    rows = [
        (f"`{figure}`", value, *_spread(spread.get(figure)), words.get(figure, ""))
        for figure, value in report["figures"].items()
    ]
    of_rounds = ("least", "most", "rounds") if spread else ()
    lines = [
        f"## {report.get('title', name)}",
        "",
        f"{_machine(report['machine'])}; {report['date']}; `{report['command']}`",
        "",
        *(
            line
            for path in report.get("pictures", [])
            for line in (f"![{report['title']}]({path})", "")
        ),
        *_table(("figure", "value", *of_rounds, "what it is"), rows),
    ]
    for table in report.get("tables", []):
        lines += ["", f"**{table['title']}**", "", *_table(table["columns"], table["rows"])]
    notes = report.get("notes", [])
    lines += ["", *(f"* {note}" for note in notes)] if notes else []
    return "\n".join(lines) + "\n"


def _pictures(report: Mapping[str, Any]) -> list[str]:
    paths = report.get("pictures", [])
    return [line for path in paths for line in (f"![{report['title']}]({path})", "")]


def _spread(spread: Mapping[str, float | int] | None) -> tuple[float | int, ...]:
    return () if spread is None else (spread["least"], spread["most"], spread["rounds"])


def _machine(machine: str | Mapping[str, Any]) -> str:
    """Return one line about the machine; older reports hold it as a line."""
    if isinstance(machine, str):
        return machine
    flags = f" ({', '.join(machine['flags'])})" if machine["flags"] else ""
    commit = f"commit {machine['commit'][:7]}{' with changes' if machine['is_dirty'] else ''}"
    return (
        f"{machine['n_cores']} cores of {machine['cpu']}{flags}, {machine['memory_gib']} GiB,"
        f" {machine['system']}; {commit}"
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = [_row(columns), "|" + "---|" * len(columns)]
    return [*lines, *(_row(row) for row in rows)]


def _row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(str(cell).replace("|", r"\|") for cell in cells) + " |"


if __name__ == "__main__":
    main()
