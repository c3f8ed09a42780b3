"""Times as HTML: text in the hub's time zone, which moments.js rewrites in the reader's own."""

from datetime import datetime

from markupsafe import Markup, escape

from portal.hub.formatting import format_day
from spawner.session.progress import Fact


def render_time(at: float, now: datetime) -> Markup:
    """Return `at`, in seconds since 1970 (UTC), as an HTML element that names the time zone.

    The text is in the time zone of `now`, with the day if it is not today.
    """
    moment = datetime.fromtimestamp(at, now.tzinfo)
    day = "" if moment.date() == now.date() else f"{format_day(moment)}, "
    text = f"{day}{moment:%H:%M} {moment:%Z}".rstrip()
    return Markup('<time datetime="{}" data-at="{}">{}</time>').format(
        moment.isoformat(timespec="seconds"), round(at), text
    )


def render_moment(at: float) -> Markup:
    """Return `at`, in seconds since 1970 (UTC), as `render_time` does, seen from now."""
    return render_time(at, datetime.now().astimezone())


def render_fact(fact: Fact, now: datetime) -> Markup:
    """Return the text of a fact as HTML, with its times as in `render_time`."""
    # Escaped before the times go in, which are HTML.
    html = escape(fact.text)
    for number, at in enumerate(fact.times):
        # Not format(), to which any other brace in the text would be a field.
        html = html.replace(f"{{{number}}}", render_time(at, now))
    return html
