"""The progress bar of a run in the cell."""

import html

from dsportal.live_output import LiveOutput
from dsportal.task.plan import End
from dsportal.task.throughput import Throughput

_BAR = '<progress{width} aria-label="Progress of the run" style="width:24em"></progress>'


def draw_pace(output: LiveOutput, pace: Throughput) -> None:
    """Show the pace of a run."""
    output.draw(render_bar(pace), str(pace))


def draw_end(output: LiveOutput, pace: Throughput | None, end: End | None) -> None:
    """Show the last pace, if a rank has reported one, and how the ranks ended, if known."""
    if pace is not None:
        done = "" if end is None else end.progress
        page = _full_bar(done) if done else render_bar(pace)
        output.draw(page, done or str(pace), is_end=True)


def _full_bar(words: str) -> str:
    return f"<div>{_BAR.format(width=' value=1')} {html.escape(words)}</div>"


def render_bar(pace: Throughput) -> str:
    """Return the bar and its figures as HTML; several ranks get a line each, folded away."""
    words = html.escape(str(pace))
    # Without a value the browser shows that the end is not known.
    width = f' max="{pace.n_steps}" value="{pace.step}"' if pace.n_steps else ""
    bar = _BAR.format(width=width)
    rows = "".join(
        f"<li>rank {rank}: {_rank_words(steps, silent_s)}</li>"
        for rank, (steps, silent_s) in enumerate(zip(pace.behind, pace.silent_s, strict=True))
    )
    ranks = f"<details><summary>Ranks</summary><ul>{rows}</ul></details>"
    return f"<div>{bar} {words}{ranks if len(pace.behind) > 1 else ''}</div>"


def _rank_words(steps: int | None, silent_s: float | None) -> str:
    if steps is None or silent_s is None:
        return "has not reported yet"
    place = {0: "in front", 1: "1 step behind"}.get(steps, f"{steps} steps behind")
    return f"{place}, last heard of {silent_s:.0f} s ago"
