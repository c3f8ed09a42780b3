"""The pages of benchmarks say what the benchmarks measured."""

import json
from pathlib import Path

import pytest

from tests.lab.benchmarks.history import Entry, read_history
from tests.support.load_file import load_file

DOCS = Path(__file__).parents[3] / "docs"
REPORTS = sorted((DOCS / "benchmarks").glob("*.json"))
MACHINE = {
    "commit": "cefa8c9f00",
    "is_dirty": False,
    "cpu": "AMD EPYC",
    "n_cores": 2,
    "threads_per_core": 1,
    "flags": ["avx512_vnni"],
    "memory_gib": 24,
    "system": "Debian",
}


make_benchmarks = load_file(DOCS / "make_benchmarks.py")


def entry(commit: str, median: float, **values: float) -> Entry:
    return Entry(
        date="2026-11-22",
        commit=commit,
        is_dirty=False,
        cpu="AMD EPYC",
        benchmark="training",
        figure="speedup",
        median=median,
        **values,
    )


def test_the_pages_are_made_from_the_figures_and_their_history() -> None:
    """Run "python docs/make_benchmarks.py" after a benchmark."""
    reports = {path.stem: json.loads(path.read_text()) for path in REPORTS}

    for name, text in make_benchmarks.render(reports, read_history()).items():
        assert (DOCS / f"explain/{name}.md").read_text(encoding="utf-8") == text, name


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_each_report_says_on_what_machine_when_and_how_it_was_measured(path: Path) -> None:
    report = json.loads(path.read_text())

    assert all(report[key] for key in ("machine", "date", "command", "figures"))
    for table in report.get("tables", []):
        assert {len(row) for row in table["rows"]} <= {len(table["columns"])}, table["title"]
    # Some are measured by a suite of their own, such as templates and gpu.
    suites = (f"tests/run bench -- -k {path.stem}", f"tests/run {path.stem}")
    assert report["command"] in (*suites, f"tests/run {path.stem} -- --record")


def test_a_figure_of_one_round_leaves_the_cells_of_the_spread_empty() -> None:
    report = {
        "machine": MACHINE,
        "date": "2026-11-22",
        "command": "tests/run bench -- -k training",
        "figures": {"ratio": 1.01, "size_mb": 50.5},
        "spread": {"ratio": {"least": 0.99, "most": 1.02, "rounds": 5}},
    }

    page = make_benchmarks.render({"training": report})["benchmarks-training"]

    assert "| figure | value | least | most | rounds | what it is |" in page
    assert "| `ratio` | 1.01 | 0.99 | 1.02 | 5 |  |" in page
    assert "| `size_mb` | 50.5 |  |  |  |  |" in page
    assert "2 cores of AMD EPYC (avx512_vnni), 1 thread a core, 24 GiB" in page


def test_the_history_shows_each_run_with_its_commit_and_spread() -> None:
    old, new = entry("aaaaaaa0", 1.6), entry("bbbbbbb0", 1.9, least=1.85, most=1.95, rounds=5)

    page = make_benchmarks.render({}, [old, new])["benchmarks-history"]

    assert "| figure | 2026-11-22, `aaaaaaa`, AMD EPYC | 2026-11-22, `bbbbbbb`, AMD EPYC |" in page
    assert "| `speedup` | 1.6 | 1.9 (1.85 to 1.95) |" in page
