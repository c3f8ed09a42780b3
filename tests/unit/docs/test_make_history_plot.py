"""The plot of the history shows what the file of the history has."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tests.lab.benchmarks.history import Entry, read_history
from tests.support.load_file import load_file

DOCS = Path(__file__).parents[3] / "docs"


plot = load_file(DOCS / "make_history_plot.py")


def entry(figure: str, commit: str, median: float, **values: float) -> Entry:
    return Entry(
        date="2026-11-22",
        commit=commit,
        is_dirty=False,
        cpu="AMD EPYC",
        benchmark="training",
        figure=figure,
        median=median,
        **values,
    )


def test_the_plot_is_made_from_the_history() -> None:
    """Run "python docs/make_benchmarks.py" after a benchmark."""
    path = DOCS / "images" / "benchmark-history.svg"

    assert path.read_text(encoding="utf-8") == plot.draw(read_history())


def test_a_figure_that_was_measured_once_has_no_line() -> None:
    entries = [entry("ratio", "a", 1.0), entry("size", "a", 50.5), entry("ratio", "b", 1.1)]

    assert list(plot.lines_of(entries)) == ["training: ratio"]


def test_a_point_is_hollow_if_the_spread_was_not_recorded_and_has_a_bar_if_it_was() -> None:
    drawn = plot.draw(
        [entry("ratio", "a", 1.0), entry("ratio", "b", 1.0, least=0.9, most=1.2, rounds=5)]
    )

    kinds = [element.get("class") for element in ElementTree.fromstring(drawn).iter()]
    assert (kinds.count("once"), kinds.count("point"), kinds.count("spread")) == (1, 1, 1)


def test_a_history_that_never_changed_is_drawn() -> None:
    assert "training: ratio" in plot.draw([entry("ratio", "a", 1.0), entry("ratio", "b", 1.0)])
