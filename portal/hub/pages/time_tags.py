"""Times on pages: in the hub's time zone as text, which pages.js rewrites in the reader's own."""

from __future__ import annotations

from datetime import datetime

from markupsafe import Markup, escape

from spawner.session.progress import Fact


def render_time(at: float, now: datetime) -> Markup:
    """Return a time for a page.

    Args:
        at: Seconds since 1970 (UTC).
        now: The present, in the time zone in which the text is written.

    Returns:
        An element of HTML that names the time zone.
    """
    moment = datetime.fromtimestamp(at, now.tzinfo)
    day = "" if moment.date() == now.date() else f"{moment:%a %d %b}, "
    text = f"{day}{moment:%H:%M} {moment:%Z}".rstrip()
    return Markup('<time datetime="{}" data-at="{}">{}</time>').format(
        moment.isoformat(timespec="seconds"), round(at), text
    )


def render_fact(fact: Fact, now: datetime) -> Markup:
    """Return the text of a fact with its times.

    Args:
        fact: The fact.
        now: As for `render_time`.

    Returns:
        HTML.
    """
    html = escape(fact.text)
    for number, at in enumerate(fact.times):
        html = html.replace(f"{{{number}}}", render_time(at, now))
    return html
