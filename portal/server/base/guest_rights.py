"""What guests of a session may do, as the hub says."""

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_server.base.handlers import JupyterHandler

from portal.server.base.hub_api import HubApi, HubError

# So long an answer of the hub counts, and so long a guest may stay after the end of a share.
ANSWER_COUNTS_S = 15.0
_MOST_REMEMBERED = 1000
# Below the session: the one page of those who may only read.
READING_PAGE = "portal/reading"
_GUEST = "is_guest_of_the_session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What one guest may do.

    Attributes:
        may_work: All that the owner may.
        reads_open: Every notebook that is open may be read.
        documents: These notebooks may be read, as paths in the session.
    """

    may_work: bool = False
    reads_open: bool = False
    documents: frozenset[str] = frozenset()

    @property
    def is_any(self) -> bool:
        """Whether the guest may do anything at all."""
        return self.may_work or self.reads_open or bool(self.documents)

    def may_read(self, path: str, *, is_open: bool) -> bool:
        """Return whether a notebook may be read."""
        return self.may_work or path in self.documents or (is_open and self.reads_open)


NOTHING = Rights()
EVERYTHING = Rights(may_work=True, reads_open=True)


class ForReaders:
    """A handler that guests may use who only read: every other one refuses them.

    It has to ask `Rights.may_read` for the notebook that it shows.
    """


class GuestRights:
    """Asks the hub, and remembers its answers for some seconds.

    While the hub does not answer, its last answer counts; whoever has none may do nothing.

    Args:
        clock: Monotonic, in seconds.
    """

    def __init__(
        self,
        hub: HubApi,
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub = hub
        self._log = log
        self._clock = clock
        self._known: dict[str, tuple[float, Rights]] = {}

    def ask_again(self) -> None:
        """Let what the hub has said count no longer, unless it does not answer."""
        self._known = {name: (-math.inf, rights) for name, (_, rights) in self._known.items()}

    async def of(self, name: str) -> Rights:
        """Return what a guest may do."""
        asked_s, known = self._known.get(name, (0.0, None))
        if known is not None and self._clock() - asked_s < ANSWER_COUNTS_S:
            return known
        try:
            rights = parse_rights(await self._hub.read_guest(name))
        except HubError as error:
            self._log.warning("The hub does not say what %s may do: %s", name, error.message)
            # A refusal is an answer: an older hub knows of no guests who only read.
            return NOTHING if known is None or error.http_status in {403, 404} else known
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        self._known[name] = (self._clock(), rights)
        return rights


def parse_rights(answer: Mapping[str, Any]) -> Rights:
    """Return rights from the hub's `answer`; none for what is not understood."""
    documents = answer.get("documents", ())
    is_list = isinstance(documents, list) and all(isinstance(one, str) for one in documents)
    return Rights(
        may_work=answer.get("may_work") is True,
        reads_open=answer.get("reads_open") is True,
        documents=frozenset(documents) if is_list else frozenset(),
    )


def mark_guest(handler: JupyterHandler) -> None:
    """Note that whom `handler` answers is not the session's owner."""
    setattr(handler, _GUEST, True)


def is_guest(handler: JupyterHandler) -> bool:
    """Return whether whom `handler` answers is not the session's owner."""
    return bool(getattr(handler, _GUEST, False))
