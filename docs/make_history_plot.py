"""Draw docs/images/benchmark-history.svg from docs/benchmarks/history.jsonl.

Run it from the root of the repository; it needs nothing but Python. `docs/make_benchmarks.py` runs
it, too:

    python docs/make_history_plot.py
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS_DIR = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS_DIR.parent / "portal/dsportal"))
sys.path.insert(0, str(DOCS_DIR.parent))

from tests.lab.benchmarks.history import Entry, read_history, runs_by_benchmark  # noqa: E402

PLOT_PATH = DOCS_DIR / "images" / "benchmark-history.svg"
N_COLUMNS = 3
PANEL_WIDTH, PANEL_HEIGHT = 300, 132
MARGIN, TITLE_HEIGHT, TOP = 16, 40, 52
# Room for the last value at the right end of a line.
LEFT, RIGHT = 8, 64
# A browser in dark mode shows the picture in dark colours.
STYLE = """\
.paper { fill: #ffffff } text { fill: #111827 } .faint { fill: #4b5563 }
.line { stroke: #1d4ed8; fill: none } .point { fill: #1d4ed8; stroke: #1d4ed8 }
.once { fill: #ffffff; stroke: #1d4ed8 } .spread { stroke: #6b7280 } .rule { stroke: #d1d5db }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117 } text { fill: #e6edf3 } .faint { fill: #9da7b3 }
.line { stroke: #79b8ff } .point { fill: #79b8ff; stroke: #79b8ff }
.once { fill: #0d1117; stroke: #79b8ff } .spread { stroke: #9da7b3 } .rule { stroke: #30363d }
}
"""


def main() -> int:
    """Draw the plot."""
    PLOT_PATH.write_text(draw(read_history()), encoding="utf-8")
    return 0


def lines_of(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return the figures that were measured at least twice.

    Returns:
        By "benchmark: figure" what it was, the oldest first.
    """
    lines: dict[str, list[Entry]] = {}
    for name, runs in runs_by_benchmark(entries).items():
        for run in runs:
            for figure, entry in run.entries.items():
                lines.setdefault(f"{name}: {figure}", []).append(entry)
    return {name: line for name, line in sorted(lines.items()) if len(line) > 1}


def draw(entries: Iterable[Entry]) -> str:
    """Return the plot as SVG: a panel for each figure that was measured at least twice."""
    lines = lines_of(entries)
    n_rows = -(-len(lines) // N_COLUMNS)
    width = 2 * MARGIN + N_COLUMNS * PANEL_WIDTH
    height = 2 * MARGIN + TOP + n_rows * PANEL_HEIGHT
    svg = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "font-family": "sans-serif",
            "font-size": "12",
            "role": "img",
            "aria-label": "History of the benchmarks' figures",
        },
    )
    ElementTree.SubElement(svg, "style").text = STYLE
    _add(svg, "rect", "paper", x=0, y=0, width=width, height=height)
    _text(svg, MARGIN, MARGIN + 12, "History of the benchmarks' figures", weight="bold")
    about = "One point a run, the median; a bar from least to most; hollow: spread not recorded."
    _text(svg, MARGIN, MARGIN + 30, about, "faint")
    for number, (name, line) in enumerate(lines.items()):
        row, column = divmod(number, N_COLUMNS)
        left = MARGIN + column * PANEL_WIDTH
        _draw_panel(svg, name, line, left, MARGIN + TOP + row * PANEL_HEIGHT)
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


def _draw_panel(
    svg: ElementTree.Element, name: str, line: Sequence[Entry], left: float, top: float
) -> None:
    _text(svg, left, top + 12, name, weight="bold")
    first, last = line[0], line[-1]
    _text(svg, left, top + 28, f"{_run_name(first)} to {_run_name(last)}", "faint")
    # From zero on, so that small differences look small.
    lowest = min(entry.median if entry.least is None else entry.least for entry in line)
    least = min(0.0, lowest)
    most = max(entry.median if entry.most is None else entry.most for entry in line)
    bottom = top + PANEL_HEIGHT - MARGIN
    height = bottom - top - TITLE_HEIGHT - 8
    scale = height / ((most - least) or 1.0)
    step = (PANEL_WIDTH - LEFT - RIGHT - MARGIN) / (len(line) - 1)
    _add(svg, "line", "rule", x1=left, x2=left + PANEL_WIDTH - MARGIN, y1=bottom, y2=bottom)
    places = [
        (left + LEFT + number * step, bottom - 4 - (entry.median - least) * scale)
        for number, entry in enumerate(line)
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    ElementTree.SubElement(svg, "polyline", {"class": "line", "points": points})
    for entry, (x, y) in zip(line, places, strict=True):
        if entry.least is not None and entry.most is not None:
            ends = (bottom - 4 - (value - least) * scale for value in (entry.least, entry.most))
            low, high = ends
            _add(svg, "line", "spread", x1=x, x2=x, y1=low, y2=high)
        _add(svg, "circle", "once" if entry.least is None else "point", cx=x, cy=y, r=3.5)
    x, y = places[-1]
    _text(svg, x + 8, y + 4, f"{last.median:,g}")


def _run_name(entry: Entry) -> str:
    return f"{entry.date} {entry.commit[:7]}"


def _add(svg: ElementTree.Element, tag: str, kind: str, **places: float) -> None:
    attributes = {name: f"{value:.1f}" for name, value in places.items()}
    ElementTree.SubElement(svg, tag, {"class": kind, **attributes})


def _text(
    svg: ElementTree.Element,
    left: float,
    top: float,
    words: str,
    kind: str = "",
    *,
    weight: str = "normal",
) -> None:
    attributes = {"x": f"{left:.1f}", "y": f"{top:.1f}", "font-weight": weight}
    ElementTree.SubElement(svg, "text", {**attributes, "class": kind}).text = words


if __name__ == "__main__":
    sys.exit(main())
