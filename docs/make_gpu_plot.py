"""Draw docs/images/gpu.svg from the figures that `tests/run gpu` left in docs/benchmarks/gpu.json.

Run it from the root of the repository on the machine of your choice; it needs nothing but Python:

    python docs/make_gpu_plot.py
"""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS_DIR = Path(__file__).resolve().parent
RESULTS_PATH = DOCS_DIR / "benchmarks" / "gpu.json"
PLOT_PATH = DOCS_DIR / "images" / "gpu.svg"

WIDTH, BAR, GAP, LEFT, RIGHT = 760, 16, 4, 330, 110
TITLE_HEIGHT, MARGIN = 44, 16
COLOURS = {"fp32": "#6b7280", "tf32": "#0f766e", "fp16": "#b45309", "bf16": "#1d4ed8"}
OTHER_COLOUR = "#1d4ed8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Bars that are compared with each other.

    Attributes:
        title: With the unit.
        pattern: Names of its figures; the group "bar" is what a bar is called.
    """

    title: str
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One figure.

    Attributes:
        name: What it is called in its panel.
        value: Median of the rounds.
        least: Least of them.
        most: Most of them.
    """

    name: str
    value: float
    least: float
    most: float


PANELS = (
    *(
        Panel(title=f"{title}, training, {unit}/s", pattern=rf"train_{name}_(?P<bar>\w+)_{unit}_.*")
        for name, title, unit in (
            ("resnet50", "ResNet50", "images"),
            ("inception3", "InceptionV3", "images"),
            ("vgg16", "VGG16", "images"),
            ("alexnet", "AlexNet", "images"),
            ("transformer", "Transformer", "texts"),
        )
    ),
    Panel(title="ResNet50 by the size of the batch, images/s", pattern=r"batch_(?P<bar>\d+)_.*"),
    Panel(
        title="Products of matrices, 10^12 operations/s", pattern=r"product_(?P<bar>\w+)_tera_.*"
    ),
    Panel(title="Transformer, inference, texts/s", pattern=r"infer_transformer_(?P<bar>\w+)_texts"),
    Panel(title="ResNet50 from files, images/s", pattern=r"input_(?P<bar>\w+)_images_per_s"),
    Panel(
        title="Time that the GPU waited for files, percent",
        pattern=r"input_(?P<bar>\w+)_waited_percent",
    ),
    Panel(
        title="ResNet50 on several GPUs, images/s", pattern=r"ddp_(?P<bar>\d+)_ranks_.*_images_.*"
    ),
)


def main(argv: Sequence[str]) -> int:
    """Draw the plot.

    Args:
        argv: Nothing, or the report and the picture's path.

    Returns:
        0, or 2 if there is no report.
    """
    source, target = (Path(word) for word in argv) if len(argv) == 2 else (RESULTS_PATH, PLOT_PATH)
    try:
        report = json.loads(source.read_text())
    except FileNotFoundError:
        print(f"{source} is missing. Run tests/run gpu on a machine with a GPU.", file=sys.stderr)
        return 2
    target.write_text(draw(report), encoding="utf-8")
    return 0


def bars_of(panel: Panel, report: Mapping[str, Any]) -> list[Bar]:
    """Return the bars of a panel.

    Args:
        panel: The panel.
        report: Content of gpu.json.

    Returns:
        In the order of the report; none if the part was left out.
    """
    bars = []
    for name, value in report["figures"].items():
        if match := re.match(panel.pattern, name):
            spread = report["spread"][name]
            word = match["bar"].replace("_", " ")
            bars.append(Bar(name=word, value=value, least=spread["least"], most=spread["most"]))
    return bars


def draw(report: Mapping[str, Any]) -> str:
    """Return the plot.

    Args:
        report: Content of gpu.json.

    Returns:
        SVG: a panel of bars for each part that was measured, with the spread as a line.
    """
    panels = [(panel, bars_of(panel, report)) for panel in PANELS]
    panels = [(panel, bars) for panel, bars in panels if bars]
    height = 2 * MARGIN + TITLE_HEIGHT
    height += sum(TITLE_HEIGHT + len(bars) * (BAR + GAP) for _, bars in panels)
    svg = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {height}",
            "font-family": "sans-serif",
            "font-size": "13",
            "role": "img",
            "aria-label": report["title"],
        },
    )
    _box(svg, 0, 0, WIDTH, height, "#ffffff")
    _text(svg, MARGIN, MARGIN + 14, f"{report['title']}, {report['date']}", weight="bold")
    top = MARGIN + TITLE_HEIGHT
    for panel, bars in panels:
        _text(svg, MARGIN, top + 14, panel.title, weight="bold")
        top += TITLE_HEIGHT - MARGIN
        most = max(bar.most for bar in bars) or 1.0
        for bar in bars:
            _draw_bar(svg, bar, top, (WIDTH - LEFT - RIGHT) / most)
            top += BAR + GAP
        top += MARGIN
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


def _draw_bar(svg: ElementTree.Element, bar: Bar, top: float, scale: float) -> None:
    middle = top + BAR / 2
    _text(svg, LEFT - 8, top + 13, bar.name, anchor="end")
    _box(svg, LEFT, top, bar.value * scale, BAR, COLOURS.get(bar.name, OTHER_COLOUR))
    _box(svg, LEFT + bar.least * scale, middle - 1, (bar.most - bar.least) * scale, 2, "#111827")
    _text(svg, LEFT + bar.most * scale + 8, top + 13, f"{bar.value:,g}")


def _box(
    svg: ElementTree.Element, left: float, top: float, width: float, height: float, colour: str
) -> None:
    places = {"x": left, "y": top, "width": width, "height": height}
    attributes = {name: f"{value:.1f}" for name, value in places.items()}
    ElementTree.SubElement(svg, "rect", {**attributes, "fill": colour})


def _text(
    svg: ElementTree.Element,
    left: float,
    top: float,
    words: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
) -> None:
    attributes = {
        "x": f"{left:.1f}",
        "y": f"{top:.1f}",
        "text-anchor": anchor,
        "font-weight": weight,
        "fill": "#111827",
    }
    ElementTree.SubElement(svg, "text", attributes).text = words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
