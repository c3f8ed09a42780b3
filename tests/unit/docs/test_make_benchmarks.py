"""The page of benchmarks says what the benchmarks measured."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
REPORTS = sorted((DOCS / "benchmarks").glob("*.json"))


def test_the_page_is_made_from_the_figures() -> None:
    """Run "python docs/make_benchmarks.py" after a benchmark."""
    spec = importlib.util.spec_from_file_location("make_benchmarks", DOCS / "make_benchmarks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reports = {path.stem: json.loads(path.read_text()) for path in REPORTS}

    assert (DOCS / "benchmarks.md").read_text(encoding="utf-8") == module.render(reports)


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_each_report_says_on_what_machine_when_and_how_it_was_measured(path: Path) -> None:
    report = json.loads(path.read_text())

    assert all(report[key] for key in ("machine", "date", "command", "figures"))
    # The templates are measured where they are tested, GPUs where there are some.
    own = {name: f"tests/run {name}" for name in ("templates", "gpu")}
    assert report["command"] == own.get(path.stem, f"tests/run bench -- -k {path.stem}")
