"""What the home page shows of one user: sessions, GPU hours, storage and messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from portal.hub.formatting import format_bytes, format_gpu_hours
from portal.hub.messages.stop_notices import Notice, Notices
from portal.hub.pages.session_view import SessionView, describe_session
from portal.hub.settings.places import Place
from spawner.client.storage import Space
from spawner.errors import PortalError
from spawner.slurm.usage import Allocation, gpu_hours

HOME = "~"
# A page does not wait longer for accounting and file servers; it shows their answers the next time.
PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCard:
    """One session on the home page.

    Attributes:
        name: The server's name; empty for the one without.
        title: What the card is called.
        view: Its state in words.
        is_active: It runs, starts or stops.
        is_ready: It can be opened.
        is_stopping: It is being stopped.
        number: Its place on the page, from 0.
    """

    name: str
    title: str
    view: SessionView
    is_active: bool
    is_ready: bool
    is_stopping: bool
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An amount in words and as a bar.

    Attributes:
        name: What it is.
        words: The amount.
        percent: How long the bar is, 0 to 100; None for no bar.
        warning: What the user should do; empty where all is well.
    """

    name: str
    words: str
    percent: float | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the page whose answer may be late or missing.

    Attributes:
        bars: What is known.
        problem: Why nothing is known; empty otherwise.
        is_late: The answer comes later.
    """

    bars: tuple[Bar, ...] = ()
    problem: str = ""
    is_late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    """The name `home` in the template.

    Attributes:
        cards: The user's sessions, the one without a name first.
        may_add: Another session with a name may be added.
        usage: GPU hours.
        storage: Folders.
        notices: Messages of administrators, the newest first.
        refresh_s: Seconds after which the page looks again.
    """

    cards: tuple[SessionCard, ...]
    may_add: bool
    usage: Part
    storage: Part
    notices: tuple[Notice, ...]
    refresh_s: int


class HomePage:
    """Describes the home page of a user.

    Args:
        places: The site's storage.
        warning_percent: From this on a folder is called nearly full.
        sessions_per_user: Most sessions of one user.
        notices: Messages of administrators.
        now: The present, local time of Slurm without a zone.
    """

    def __init__(
        self,
        *,
        places: Sequence[Place],
        warning_percent: float,
        sessions_per_user: int,
        notices: Notices,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        written = (place for place in places if not place.read_only)
        self._folders = {HOME: "Home folder", **{place.path: place.label for place in written}}
        self._warning_percent = warning_percent
        self._sessions_per_user = sessions_per_user
        self._notices = notices
        self._now = now

    async def describe(self, user: Any) -> HomeView:
        """Return the page of a user; nothing that does not answer holds it up.

        Args:
            user: JupyterHub's user.

        Returns:
            What the template shows.
        """
        usage, storage = await asyncio.gather(self._describe_usage(user), self._ask_storage(user))
        cards = tuple(describe_cards(user))
        is_changing = usage.is_late or storage.is_late or any(c.view.is_changing for c in cards)
        return HomeView(
            cards=cards,
            may_add=len(cards) < self._sessions_per_user,
            usage=usage,
            storage=storage,
            notices=self._notices.of(user.name),
            refresh_s=3 if is_changing else 30,
        )

    async def _describe_usage(self, user: Any) -> Part:
        now = self._now()
        since = min(week_of(now), month_of(now))
        try:
            allocations = await user.spawner.cluster.read_allocations(
                user.name, since, patience_s=PATIENCE_S
            )
        except PortalError as error:
            return Part(problem=error.message)
        if allocations is None:
            return Part(is_late=True)
        return Part(bars=describe_usage(allocations, now))

    async def _ask_storage(self, user: Any) -> Part:
        try:
            spaces = await user.spawner.cluster.read_spaces(
                user.name, tuple(self._folders), patience_s=PATIENCE_S
            )
        except PortalError as error:
            return Part(problem=error.message)
        if spaces is None:
            return Part(is_late=True)
        bars = (
            describe_space(name, spaces.get(folder), self._warning_percent)
            for folder, name in self._folders.items()
        )
        return Part(bars=tuple(bars))


def describe_cards(user: Any) -> list[SessionCard]:
    """Return a card for each session of a user, active or not.

    Args:
        user: JupyterHub's user.

    Returns:
        The session without a name first, the others by their names.
    """
    names = ["", *sorted(name for name in user.orm_user.orm_spawners if name)]
    return [
        _describe_card(name, user.spawners[name], number)
        for number, name in enumerate(names)
        if not name or user.allow_named_servers or user.spawners[name].active
    ]


def _describe_card(name: str, spawner: Any, number: int) -> SessionCard:
    return SessionCard(
        name=name,
        title=f"Session {name}" if name else "Your session",
        view=describe_session(spawner),
        is_active=bool(spawner.active),
        is_ready=bool(spawner.ready),
        is_stopping=spawner.pending == "stop",
        number=number,
    )


def describe_usage(allocations: Sequence[Allocation], now: datetime) -> tuple[Bar, ...]:
    """Return the GPU hours of this week and of this month.

    Args:
        allocations: What the user's jobs held.
        now: The present, in the time zone of the allocations.

    Returns:
        Two bars, the larger amount with a whole one.
    """
    spans = {"This week": week_of(now), "This month": month_of(now)}
    hours = {name: gpu_hours(allocations, since=at, until=now) for name, at in spans.items()}
    most = max(hours.values())
    return tuple(
        Bar(name=name, words=format_gpu_hours(spent), percent=100 * spent / most if most else 0.0)
        for name, spent in hours.items()
    )


def describe_space(name: str, space: Space | None, warning_percent: float) -> Bar:
    """Return how full a folder is.

    Args:
        name: What the folder is called.
        space: Its space; None where it is not known.
        warning_percent: From this on it is nearly full.

    Returns:
        The space in words, with a warning where it is nearly full.
    """
    if space is None:
        return Bar(name=name, words="does not answer just now")
    kind = " of your quota of " if space.is_quota else " of "
    words = f"{format_bytes(space.free_bytes)} free{kind}{format_bytes(space.total_bytes)}"
    warning = ""
    if space.used_percent >= warning_percent:
        state = "full" if space.free_bytes == 0 else "nearly full"
        warning = (
            f"{name} is {state}: notebooks and checkpoints may not be saved."
            " Delete what you no longer need."
        )
    return Bar(name=name, words=words, percent=min(100.0, space.used_percent), warning=warning)


def week_of(now: datetime) -> datetime:
    """Return the beginning of a week.

    Args:
        now: A moment of it.

    Returns:
        Monday at midnight.
    """
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=day.weekday())


def month_of(now: datetime) -> datetime:
    """Return the beginning of a month.

    Args:
        now: A moment of it.

    Returns:
        The first at midnight.
    """
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
