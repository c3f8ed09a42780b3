"""Tables and plots of a scaling study, as text and as one HTML file. Pure."""

import html
from collections.abc import Callable, Sequence

from dsportal.scaling.study_config import Config, Measurement

_WIDTH, _HEIGHT, _MARGIN = 480, 320, 48
_COLORS = ("#1a6fb5", "#c4501b", "#2f8f4e", "#8a4fb0", "#a07d00", "#555555")
_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:62em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.3em .8em;text-align:right;"
    "border-bottom:1px solid #ccc}svg{margin-right:1em}"
)
Series = dict[str, list[tuple[int, float]]]


def speedups(measurements: Sequence[Measurement]) -> dict[Config, float]:
    """Return each configuration's speed-up over the smallest comparable one.

    Returns:
        Speed-up by configuration: images/s over those of the fewest ranks with the same precision
        and threads, times that number of ranks. Configurations with the same batch on each rank are
        preferred for comparison, as under weak scaling; if there are none, as under strong scaling,
        it is the fewest ranks of all.
    """
    found = {}
    for each in measurements:
        alike = [other for other in measurements if _kind(other) == _kind(each)]
        same_batch = [o for o in alike if o.config.batch_size == each.config.batch_size]
        smallest = min(alike, key=lambda other: other.config.shape.n_ranks)
        # In strong scaling the batch of a rank depends on the number of ranks.
        candidates = same_batch if len(same_batch) > 1 else [smallest]
        base = min(candidates, key=lambda other: other.config.shape.n_ranks)
        n_base = base.config.shape.n_ranks
        found[each.config] = n_base * each.images_per_s / base.images_per_s
    return found


def render_table(measurements: Sequence[Measurement]) -> str:
    """Return a plain-text table, one line for each configuration."""
    lines = ["nodes x ranks  batch  precision  threads   images/s  (spread)  speed-up  efficiency"]
    for config, cells in _rows(measurements):
        shape = f"{config.n_nodes}x{config.ranks_per_node}"
        lines.append(
            f"{shape:>13}  {config.batch_size:5}  {config.precision:9}  {config.n_threads or '':7}"
            f"  {cells[0]:>9}  {cells[1]:>8}  {cells[2]:>8}  {cells[3]:>10}"
        )
    return "\n".join(lines)


def render_report(name: str, measurements: Sequence[Measurement]) -> str:
    """Return one self-contained HTML page; `name` is the study's."""
    title = html.escape(f"Scaling study: {name}")
    rows = "".join(
        f"<tr><td>{html.escape(str(config))}</td>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for config, cells in _rows(measurements)
    )
    found = speedups(measurements)
    gained: Series = {}
    efficiency: Series = {}
    for each in sorted(measurements, key=lambda other: other.config.shape.n_ranks):
        label = f"{each.config.precision}" + (
            f", {each.config.n_threads} threads" if each.config.n_threads else ""
        )
        n_ranks = each.config.shape.n_ranks
        gained.setdefault(label, []).append((n_ranks, found[each.config]))
        efficiency.setdefault(label, []).append((n_ranks, found[each.config] / n_ranks))
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<style>{_STYLE}</style><h1>{title}</h1>"
        "<p>Images/s are the images of all ranks over the time of all steps after the warm-up; "
        "the spread is the standard deviation over the steps.</p>"
        "<table><tr><th>nodes x ranks, batch of a rank, precision</th><th>images/s</th>"
        f"<th>spread</th><th>speed-up</th><th>efficiency</th></tr>{rows}</table>"
        f"{_plot('Speed-up', gained, ideal=lambda n: float(n))}"
        f"{_plot('Efficiency', efficiency, ideal=lambda n: 1.0)}</html>\n"
    )


def _kind(measurement: Measurement) -> tuple[str, int]:
    return measurement.config.precision, measurement.config.n_threads


def _rows(measurements: Sequence[Measurement]) -> list[tuple[Config, tuple[str, ...]]]:
    found = speedups(measurements)
    return [
        (
            each.config,
            (
                f"{each.images_per_s:.1f}",
                f"± {each.spread:.1f}",
                f"{found[each.config]:.2f}",
                f"{found[each.config] / each.config.shape.n_ranks:.0%}",
            ),
        )
        for each in measurements
    ]


def _plot(title: str, series: Series, ideal: Callable[[int], float]) -> str:
    # Points over the number of ranks; the ideal is a dashed line.
    points = [point for line in series.values() for point in line]
    if not points:
        return ""
    n_most = max(n for n, _ in points)
    highest = max([ideal(n_most), *(value for _, value in points)])

    def place(n_ranks: int, value: float) -> str:
        x = _MARGIN + (_WIDTH - 2 * _MARGIN) * n_ranks / n_most
        y = _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * value / highest
        return f"{x:.1f},{y:.1f}"

    counts = sorted({n for n, _ in points})
    wanted = " ".join(place(n, ideal(n)) for n in sorted({1, *counts}))
    parts = [
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{title}">',
        f'<text x="{_MARGIN}" y="24" font-weight="bold">{title} over ranks</text>',
        f'<polyline points="{wanted}" fill="none" stroke="#999" stroke-dasharray="5 4"/>',
    ]
    for index, (label, line) in enumerate(series.items()):
        color = _COLORS[index % len(_COLORS)]
        path = " ".join(place(n, value) for n, value in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [
            '<circle cx="{}" cy="{}" r="4" fill="{}"/>'.format(*place(*point).split(","), color)
            for point in line
        ]
        y = 44 + 18 * index
        parts.append(f'<text x="{_MARGIN + 8}" y="{y}" fill="{color}">{html.escape(label)}</text>')
    for n_ranks in counts:
        x = place(n_ranks, 0).split(",")[0]
        parts.append(f'<text x="{x}" y="{_HEIGHT - 24}" text-anchor="middle">{n_ranks}</text>')
    x, y_top = place(0, highest).split(",")
    parts.append(f'<text x="{x}" y="{y_top}" text-anchor="end">{highest:g} </text>')
    return "".join([*parts, "</svg>"])
