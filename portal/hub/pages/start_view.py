"""Data of a starting session for the waiting page, before its script runs or without it."""

from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from portal.hub.pages.time_tags import render_fact, render_time
from spawner.hub.session_mixin import SessionMixin
from spawner.session.progress import Progress

START_STEPS = (
    ("submitted", "Submitted"),
    ("queued", "In the queue"),
    ("running", "Running on a node"),
    ("starting", "Notebook server starting"),
    ("ready", "Ready"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One step of the page.

    Attributes:
        name: Its name in progress events.
        state: "done", "now" or "next".
        message: Text below it; may be empty.
    """

    name: str
    title: str
    state: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactView:
    """A line of live status as HTML, and whether it needs attention."""

    name: str
    html: Markup
    is_problem: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StartView:
    """One start.

    Attributes:
        steps: All five.
        facts: Live status: queue position, expected start and the like.
        log: Messages so far, each with its time.
        title: Title of the current step.
    """

    steps: tuple[StepView, ...]
    facts: tuple[FactView, ...]
    log: tuple[tuple[Markup, str], ...]
    title: str


def describe_start(spawner: SessionMixin, now: datetime | None = None) -> StartView:
    """Return the current start of a spawner.

    `now` is in the hub's time zone.
    """
    now = now or datetime.now().astimezone()
    progress: Progress = spawner.start_progress
    log = progress.log
    current = log[-1].name if log else START_STEPS[0][0]
    steps = _steps(current, log[-1].message if log else progress.line)
    return StartView(
        steps=steps,
        facts=tuple(
            FactView(name=fact.name, html=render_fact(fact, now), is_problem=fact.is_problem)
            for fact in progress.facts
        ),
        log=tuple((render_time(step.at, now), step.message) for step in log),
        title=next(step.title for step in steps if step.state == "now"),
    )


def _steps(current: str, message: str) -> tuple[StepView, ...]:
    names = [name for name, _ in START_STEPS]
    place = names.index(current)
    return tuple(
        StepView(
            name=name,
            title=title,
            state="done" if number < place else "now" if number == place else "next",
            message=message if number == place else "",
        )
        for number, (name, title) in enumerate(START_STEPS)
    )
