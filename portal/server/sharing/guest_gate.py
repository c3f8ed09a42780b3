"""Guests of a session: colleagues with whom it is shared, until the hub no longer allows them."""

import logging
import weakref
from collections.abc import Callable
from typing import Any

from jupyter_server.auth.identity import IdentityProvider
from jupyter_server.base.handlers import JupyterHandler
from tornado.web import Finish, HTTPError, RequestHandler

from portal.server.base.forwarding import cut_off
from portal.server.base.guest_rights import (
    EVERYTHING,
    NOTHING,
    READING_PAGE,
    ForReaders,
    GuestRights,
    Rights,
    mark_guest,
)
from portal.server.base.periodic import PeriodicCall
from portal.server.patches.identity_provider import check_users

RECHECK_S = 15.0
_ENTRIES = frozenset({"lab", "tree", "lab/tree"})
_CLOSED = "The owner no longer shares this session."


class GuestGate:
    """Refuses what a guest may not do, and asks the hub again and again who may still be here.

    JupyterHub's code for servers asks once for a websocket, which may stay open for days, and
    remembers the answer to other requests for five minutes.

    Args:
        on_fewer: Called when somebody who could work may not any more, and may have kept what
            stands for a login.
    """

    def __init__(
        self,
        owner: str,
        log: logging.Logger,
        rights: GuestRights,
        base_url: str = "/",
        on_fewer: Callable[[], None] = lambda: None,
    ) -> None:
        self._owner = owner
        self._log = log
        self.rights = rights
        self._base_url = base_url
        self._on_fewer = on_fewer
        self._hub_auth: Any = None
        self._workers: set[str] = set()
        # Websockets and long answers among them; the others are gone soon.
        self._handlers: weakref.WeakSet[RequestHandler] = weakref.WeakSet()
        self._checks = PeriodicCall(self.check, RECHECK_S)

    def watch(self, identity_provider: IdentityProvider) -> None:
        """Check each request of guests, and note their websockets.

        `identity_provider` is the server's.
        """
        self._hub_auth = identity_provider.hub_auth
        check_users(identity_provider, self._check_user)

    async def _check_user(self, handler: JupyterHandler, user: Any) -> Any:
        if user is not None and user.username != self._owner:
            return await self._admit(handler, user)
        # JupyterHub puts there what refuses somebody who is logged in.
        if user is None and "redirect" in vars(handler):
            handler.redirect = self._refuse
        return user

    async def _admit(self, handler: JupyterHandler, user: Any) -> Any:
        mark_guest(handler)
        # What guests do keeps no session; what they started there does, while it computes.
        handler._track_activity = False
        rights = await self.rights.of(str(user.username))
        if not is_allowed(handler, rights):
            if is_public(handler):
                # What anybody may ask, such as a page's pictures, asked as nobody.
                return None
            self._refuse_work(handler, rights)
        if rights.may_work:
            self._workers.add(str(user.username))
        self._handlers.add(handler)
        return user

    def _refuse_work(self, handler: JupyterHandler, rights: Rights) -> None:
        if not rights.is_any:
            self._refuse()
        request = handler.request
        page = f"{self._base_url}{READING_PAGE}"
        if request.method == "GET" and request.path.removeprefix(self._base_url) in _ENTRIES:
            handler.redirect(page)
            raise Finish
        raise HTTPError(
            403,
            f"{self._owner} lets you read here, and nothing else. What you may read is at {page}."
            f" To run or change something, ask {self._owner} to let you work.",
        )

    def start(self) -> None:
        """Start to ask every few seconds; nothing is asked while there have been no guests."""
        self._checks.start()

    async def stop(self) -> None:
        """Stop asking."""
        await self._checks.stop()

    async def check(self) -> None:
        """Forget what the hub said of guests, and cut off those who must leave."""
        # With answers that still count, the end would come late by as much again.
        self.rights.ask_again()
        cache = self._hub_auth.cache
        for key, model in list(cache.values.items()):
            # None for a token that the hub does not know.
            if model is None or model["name"] != self._owner:
                cache.values.pop(key, None)
                cache.timestamps.pop(key, None)
        allowed: dict[str, Rights] = {}
        for handler in list(self._handlers):
            token = self._hub_auth.get_token(handler) or ""
            if token not in allowed:
                allowed[token] = await self._rights_of_token(token)
            if not is_allowed(handler, allowed[token]):
                self._handlers.discard(handler)
                cut_off(handler, _CLOSED)
        left = {name for name in self._workers if not (await self.rights.of(name)).may_work}
        if left:
            self._workers -= left
            self._on_fewer()

    def _refuse(self, *_: Any, **__: Any) -> None:
        raise HTTPError(
            403,
            f"This session belongs to {self._owner} and is not shared with you, or no longer. Ask"
            f" {self._owner} to let you in.",
        )

    async def _rights_of_token(self, token: str) -> Rights:
        try:
            model = await self._hub_auth.user_for_token(token, use_cache=False, sync=False)
        except HTTPError as error:
            # The hub does not answer; whoever was let in stays until it does.
            self._log.warning("The hub does not say whether a guest may stay: %s", error)
            return EVERYTHING
        if model and self._hub_auth.check_scopes(self._hub_auth.access_scopes, model):
            return await self.rights.of(str(model["name"]))
        return NOTHING


def is_allowed(handler: JupyterHandler, rights: Rights) -> bool:
    """Return whether somebody with these rights may use a handler."""
    return rights.may_work or (rights.is_any and isinstance(handler, ForReaders))


def is_public(handler: JupyterHandler) -> bool:
    """Return whether anybody may ask a handler, without a login."""
    method = getattr(handler, str(handler.request.method).lower(), None)
    return bool(getattr(method, "__allow_unauthenticated", False))
