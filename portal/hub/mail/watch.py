"""Looks at all sessions every few seconds and tells their users what they asked for."""

import asyncio
import functools
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from jupyterhub.app import JupyterHub

from portal.hub.mail.addresses import AddressBook
from portal.hub.mail.chat import Chat, ChatMessage
from portal.hub.mail.events import Event, Look, Phase, compare, is_wanted
from portal.hub.mail.given_back import take_reports
from portal.hub.mail.message import Letterhead, News, body, subject, write
from portal.hub.mail.outbox import PASSWORD, Outbox
from portal.hub.pages.failure_view import FailureView, describe_ending, describe_failure
from portal.hub.settings.loader import Settings
from portal.hub.settings.mail import MailSettings
from spawner.hub.session_mixin import SessionMixin
from spawner.json_file import JsonFile

_EVERY_S = 15.0
_UNKNOWN = "The home page of the portal says more."


class MailWatch:
    """Compares sessions with the look before, which survives a restart of the hub.

    Args:
        path: Where looks are kept, in a folder that only the hub writes; None for memory.
    """

    def __init__(
        self,
        settings: MailSettings,
        head: Letterhead,
        *,
        chat: Chat,
        book: AddressBook,
        path: Path | None,
        log: logging.Logger,
    ) -> None:
        self._log = log
        self._settings = settings
        self._head = head
        self._chat = chat
        self._book = book
        self.outbox = Outbox(settings, password=os.environ.get(PASSWORD, ""), log=log)
        self._file = JsonFile(path)
        self._saved = self._file.read()
        self._looks = {
            key: look
            for key, saved in self._saved.items()
            if (look := Look.from_state(saved)) is not None
        }

    async def watch(self, hub: JupyterHub) -> None:
        """Look at the sessions of `hub`, a `JupyterHub`, until it ends."""
        while True:
            await asyncio.sleep(_EVERY_S)
            try:
                await self.look(_spawners(hub, self._looks), at=time.time())
            except Exception:
                # Mail is the least of what a hub does, and the next look may succeed.
                self._log.exception("Sessions could not be looked at for mail.")

    async def look(self, spawners: Iterable[SessionMixin], *, at: float) -> None:
        """Look at all sessions once, and send what is to be sent.

        Args:
            at: Now, in seconds since 1970 (UTC).
        """
        looks = {}
        for spawner in spawners:
            key = _key(spawner)
            before = self._looks.get(key)
            # Most users have no session, and most sessions ask for no mail.
            if before is None and (spawner.session is None or not _wants(spawner)):
                continue
            now = _look_at(spawner)
            events, kept = compare(before, now, at=at, before_end_s=self._settings.before_end_s)
            if kept.phase is not Phase.OVER:
                looks[key] = kept
            for event in events:
                self._tell(_news(event, spawner, kept))
            reports = " ".join(take_reports(spawner, at=at))
            if reports and is_wanted(Event.GPUS_GIVEN_BACK, kept.wants):
                event = Event.GPUS_GIVEN_BACK
                self._tell(replace(_news(event, spawner, kept), explanation=reports))
        self._looks = looks
        state = {key: look.to_state() for key, look in looks.items()}
        if state != self._saved:
            self._saved = state
            self._file.save(state)
        self._chat.send_soon()
        await self.outbox.send()

    def _tell(self, news: News) -> None:
        known = self._book.of(news.user)
        mail = self._settings.address_of(news.user, own=known.mail, directory=known.directory)
        chat = self._chat.address_of(news.user, known.chat)
        if mail:
            self.outbox.add(write(news, self._head, mail))
        if chat:
            title, text = subject(news, self._head), body(news, self._head)
            self._chat.add(ChatMessage(user=news.user, address=chat, title=title, body=text))
        if not (mail or chat):
            self._log.warning("%s has no address for messages.", news.user)


# Settings may be applied twice, and each mail is sent once.
@functools.cache
def watched_by(
    mail: MailSettings, head: Letterhead, chat: Chat, book: AddressBook, path: Path
) -> Callable[[Any], Awaitable[None]]:
    """Return a function that has the sessions of a `JupyterHub` watched from now on.

    Args:
        path: As in `MailWatch`.
    """

    async def begin(hub: JupyterHub) -> None:
        watch = MailWatch(mail, head, chat=chat, book=book, path=path, log=hub.log)
        # The loop itself keeps no task alive.
        hub.mail_watch = asyncio.create_task(watch.watch(hub))

    return begin


def letterhead(settings: Settings) -> Letterhead:
    """Return what all messages of a site have in common."""
    url = settings.hub.public_url.rstrip("/")
    return Letterhead(
        portal=settings.site.name,
        url=f"{url}{settings.hub.hub_prefix}home" if url else "",
        sender=settings.mail.sender,
    )


def _spawners(hub: JupyterHub, known: Iterable[str]) -> Iterator[SessionMixin]:
    known = set(known)
    # Lists: users come and go while mail is sent.
    for user in list(hub.users.values()):
        for spawner in list(user.spawners.values()):
            known.discard(_key(spawner))
            yield spawner
    # JupyterHub drops the spawner of a session that has ended; the next one knows why it did.
    for key in known:
        name, _, server_name = key.rpartition("/")
        user = hub.users.get(name)
        # For a session that its user has deleted it would make a new one.
        if user is not None and server_name in user.orm_user.orm_spawners:
            yield user.spawners[server_name]


def _key(spawner: SessionMixin) -> str:
    return f"{spawner.user.name}/{spawner.name}"


def _look_at(spawner: SessionMixin) -> Look:
    session = spawner.session
    wants = _wants(spawner)
    if session is None:
        return Look(
            session_id="", phase=Phase.OVER, wants=wants, is_explained=_why(spawner) is not None
        )
    return Look(
        session_id=session.session_id,
        phase=Phase.READY if session.is_ready else Phase.STARTING,
        wants=wants,
        waits_since=session.submitted_at,
        left_s=spawner.left_s,
    )


def _wants(spawner: SessionMixin) -> str:
    return str(spawner.user_options.get("mail") or "")


def _why(spawner: SessionMixin) -> FailureView | None:
    start = getattr(spawner, "_spawn_future", None)
    failed = None
    if start is not None and start.done() and not start.cancelled():
        failed = start.exception()
    return describe_ending(spawner) or describe_failure(failed, spawner)


def _news(event: Event, spawner: SessionMixin, look: Look) -> News:
    session, why = spawner.session, None
    if event in (Event.ENDED, Event.NOT_STARTED):
        why = _why(spawner)
    return News(
        user=spawner.user.name,
        name=spawner.name,
        event=event,
        n_gpus=0 if session is None else session.n_gpus,
        left_s=look.left_s,
        explanation=_UNKNOWN if why is None else f"{why.sentence} {why.next_step}".rstrip(),
    )
