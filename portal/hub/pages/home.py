"""Data of the home page of one user: sessions, GPU hours, storage and messages."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jupyterhub.user import User

from dsportal.slurm.errors import PortalError
from dsportal.slurm.used import JobUse
from portal.hub.formatting import format_bytes, format_gpu_hours
from portal.hub.messages.stop_notices import Notice, Notices
from portal.hub.pages.gpu_hours import UsageView, describe_usage, usage_start
from portal.hub.pages.gpu_record import GpuRecord
from portal.hub.pages.kernel_gpus import find_kernel_gpus
from portal.hub.pages.past_sessions import (
    MOST_SESSIONS,
    NO_USES,
    PastSession,
    newest_sessions,
)
from portal.hub.pages.session_state import SessionView, StateFact, describe_session
from portal.hub.settings.named_storage import SiteStorage
from portal.hub.sharing.grants import Grant, Grants
from portal.hub.sharing.shares import SharedSession, key_of, list_shared_sessions, list_shares
from spawner.hub.session_mixin import SessionMixin
from spawner.session.cluster import Cluster
from spawner.session.clusters import latest_jobs_of
from spawner.slurm.cluster_jobs import ClusterJob
from spawner.space import Space

HOME = "~"
# Accounting and file servers may be slow: the page shows later answers the next time.
PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCard:
    """One session on the home page.

    Attributes:
        name: JupyterHub's server name; empty for the session without one.
        view: Its state.
        is_active: It is running, starting or stopping.
        is_ready: It can be opened.
        number: Position on the page, from 0.
        may_share: Colleagues may be let in.
        reads: Guests can be held to reading.
        shares: Those who may open it, besides its owner.
    """

    name: str
    title: str
    view: SessionView
    is_active: bool
    is_ready: bool
    is_stopping: bool
    number: int
    may_share: bool = False
    reads: bool = False
    shares: tuple[Grant, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An amount as text and as a bar.

    Attributes:
        words: The amount, formatted.
        percent: Length of the bar, 0 to 100; None for no bar.
        warning: What the user should do; empty if all is well.
    """

    name: str
    words: str
    percent: float | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageView:
    """The user's folders, if the file servers have answered.

    Attributes:
        problem: Why there is no data; else empty.
        is_late: The data will be there at a later request.
    """

    bars: tuple[Bar, ...] = ()
    problem: str = ""
    is_late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    """The variable `home` in the template.

    Attributes:
        cards: The user's sessions, the one without a name first.
        shared: Sessions of others that the user may open.
        may_add: Another named session may be added.
        usages: What the user's jobs held on each cluster, the first one first.
        notices: Messages of administrators, the newest first.
        refresh_s: Seconds after which the page reloads its data.
    """

    cards: tuple[SessionCard, ...]
    may_add: bool
    usages: tuple[UsageView, ...]
    storage: StorageView
    notices: tuple[Notice, ...]
    refresh_s: int
    shared: tuple[SharedSession, ...] = ()

    @property
    def past_sessions(self) -> tuple[PastSession, ...]:
        """The last sessions on all clusters, the newest first."""
        each = (
            replace(session, cluster=usage.cluster)
            for usage in self.usages
            for session in usage.sessions
        )
        newest = sorted(each, key=lambda session: session.started_at, reverse=True)
        return tuple(newest[:MOST_SESSIONS])


class HomePage:
    """Builds the home page of users.

    Args:
        now: Returns the present as local time of Slurm, without a zone.
    """

    def __init__(
        self,
        *,
        places: Sequence[SiteStorage],
        warning_percent: float,
        sessions_per_user: int,
        notices: Notices,
        gpu_record: GpuRecord,
        offers_sharing: bool = False,
        grants: Grants | None = None,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._written = tuple(place for place in places if not place.read_only)
        self._warning_percent = warning_percent
        self._sessions_per_user = sessions_per_user
        self._notices = notices
        self._gpu_record = gpu_record
        self._offers_sharing = offers_sharing
        self._grants = grants if grants is not None else Grants(None)
        self._now = now

    async def describe(self, user: User) -> HomeView:
        """Return the page of a `user`; nothing that does not answer delays it."""
        # At once, so that the page waits for the slower one only.
        names = ("", *user.spawner.clusters)
        storage, usages = await asyncio.gather(
            self._ask_storage(user),
            asyncio.gather(*(self._ask_cluster(user, name) for name in names)),
        )
        cards = tuple(describe_cards(user))
        if self._offers_sharing:
            cards = tuple(self._with_shares(card, user.spawners[card.name]) for card in cards)
        if any(card.is_ready for card in cards):
            clusters = user.spawner.all_clusters()
            jobs = await latest_jobs_of(clusters, patience_s=PATIENCE_S)
            kernels = {name: of_cluster.kernels_of(user.name) for name, of_cluster in jobs.items()}
            cards = tuple(_with_kernels(card, user, kernels) for card in cards)
        is_late = storage.is_late or any(usage.is_late for usage in usages)
        is_changing = is_late or any(card.view.is_changing for card in cards)
        return HomeView(
            cards=cards,
            may_add=len(cards) < self._sessions_per_user,
            usages=tuple(usages),
            storage=storage,
            notices=self._notices.of(user.name),
            refresh_s=3 if is_changing else 30,
            shared=list_shared_sessions(user, self._grants) if self._offers_sharing else (),
        )

    def _with_shares(self, card: SessionCard, spawner: SessionMixin) -> SessionCard:
        return replace(
            card,
            may_share=card.is_ready,
            reads=self._grants.knows(key_of(spawner)),
            shares=list_shares(spawner, self._grants),
        )

    async def _ask_cluster(self, user: User, name: str) -> UsageView:
        here = user.spawner.on(name)
        usage, budgets = await asyncio.gather(
            self._ask_usage(user.name, here.cluster), here.describe_budgets(PATIENCE_S)
        )
        title = here.title if user.spawner.clusters else ""
        return replace(usage, cluster=title, budgets=budgets)

    async def _ask_usage(self, user: str, cluster: Cluster) -> UsageView:
        now = self._now()
        until_s = time.monotonic() + PATIENCE_S
        try:
            allocations = await cluster.allocations.get_within(PATIENCE_S, user, usage_start(now))
        except PortalError as error:
            return UsageView(problem=error.message)
        if allocations is None:
            return UsageView(is_late=True)
        # Of somebody with 100,000 jobs it takes half a second.
        ids = await asyncio.to_thread(newest_sessions, allocations)
        uses: Mapping[str, JobUse] | None = None
        with contextlib.suppress(PortalError):
            left_s = max(0.0, until_s - time.monotonic())
            uses = await cluster.uses.get_within(left_s, ids)
        record = self._gpu_record.on(cluster.name)
        allocations = await asyncio.to_thread(record.fill_in, user, allocations)
        return await asyncio.to_thread(describe_usage, allocations, now, uses or NO_USES)

    async def _ask_storage(self, user: User) -> StorageView:
        own = {place.folder_of(user.name): place.label for place in self._written}
        personal = {place.folder_of(user.name) for place in self._written if place.is_personal}
        folders, here = {HOME: "Home folder", **own}, user.spawner.on("")
        try:
            spaces = await here.cluster.spaces.get_within(PATIENCE_S, user.name, tuple(folders))
        except PortalError as error:
            return StorageView(problem=error.message)
        if spaces is None:
            return StorageView(is_late=True)
        bars = (
            describe_space(name, spaces.get(folder), self._warning_percent)
            for folder, name in folders.items()
            # Not everybody has a folder of their own there.
            if folder in spaces or folder not in personal
        )
        return StorageView(bars=tuple(bars))


def describe_cards(user: User) -> list[SessionCard]:
    """Return a card for each session of a user, active or not.

    Returns:
        The session without a name first, the others sorted by name.
    """
    # From the database: user.spawners has only those that were used since the hub started.
    names = ["", *sorted(name for name in user.orm_user.orm_spawners if name)]
    return [
        _describe_card(name, user.spawners[name], number)
        for number, name in enumerate(names)
        # Running sessions stay visible after the site switched named ones off.
        if not name or user.allow_named_servers or user.spawners[name].active
    ]


def _with_kernels(
    card: SessionCard, user: User, jobs: Mapping[str, Sequence[ClusterJob]]
) -> SessionCard:
    session = user.spawners[card.name].session
    job_id, cluster = (session.job_id, session.cluster) if session and card.is_ready else (0, "")
    held = find_kernel_gpus(jobs.get(cluster, ()), job_id, datetime.now().astimezone())
    if not held.words:
        return card
    fact = StateFact("GPUs of kernels", held.words, f"{format_gpu_hours(held.hours)} so far")
    return replace(card, view=replace(card.view, facts=(*card.view.facts, fact)))


def _describe_card(name: str, spawner: SessionMixin, number: int) -> SessionCard:
    return SessionCard(
        name=name,
        title=f"Session {name}" if name else "Your session",
        view=describe_session(spawner),
        is_active=bool(spawner.active),
        is_ready=bool(spawner.ready),
        is_stopping=spawner.pending == "stop",
        number=number,
    )


def describe_space(name: str, space: Space | None, warning_percent: float) -> Bar:
    """Return how full a folder is, with a warning from `warning_percent` on.

    `space` is None if it is not known.
    """
    if space is None:
        return Bar(name=name, words="is not responding")
    kind = " of your quota of " if space.is_quota else " of "
    words = f"{format_bytes(space.free_bytes)} free{kind}{format_bytes(space.total_bytes)}"
    warning = ""
    if space.used_percent >= warning_percent:
        state = "full" if space.free_bytes == 0 else "nearly full"
        warning = (
            f"{name} is {state}: notebooks and checkpoints may not be saved."
            " Delete what you no longer need."
        )
    # With a soft quota more than all of it may be used.
    return Bar(name=name, words=words, percent=min(100.0, space.used_percent), warning=warning)
