"""Guests of a session: colleagues with whom it is shared, until the hub no longer allows them."""

from __future__ import annotations

import asyncio
import logging
import weakref
from typing import Any

from tornado.web import HTTPError
from tornado.websocket import WebSocketHandler

RECHECK_S = 15.0


class Guests:
    """Asks the hub again and again whether those who are not the owner may still be here.

    JupyterHub's code for servers asks once for a websocket, which may stay open for days, and
    remembers the answer to other requests for five minutes.

    Args:
        owner: Name of the session's user.
    """

    def __init__(self, owner: str, log: logging.Logger) -> None:
        self._owner = owner
        self._log = log
        self._hub_auth: Any = None
        self._sockets: weakref.WeakSet[WebSocketHandler] = weakref.WeakSet()
        self._task: asyncio.Task[None] | None = None

    def watch(self, identity_provider: Any) -> None:
        """Note the websockets of guests.

        This wraps the method `get_user` of the server's `identity_provider`.
        """
        self._hub_auth = identity_provider.hub_auth
        ask = identity_provider.get_user

        async def get_user(handler: Any) -> Any:
            user = await ask(handler)
            is_guest = user is not None and user.username != self._owner
            if is_guest and isinstance(handler, WebSocketHandler):
                self._sockets.add(handler)
            # JupyterHub puts there what refuses somebody who is logged in.
            if user is None and "redirect" in vars(handler):
                handler.redirect = self._refuse
            return user

        identity_provider.get_user = get_user

    def start(self) -> None:
        """Start to ask every few seconds; nothing is asked while there are no guests."""
        self._task = asyncio.get_running_loop().create_task(self._check_now_and_then())

    async def stop(self) -> None:
        """Stop asking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def check(self) -> None:
        """Forget what the hub said of guests, and close the websockets of those who must leave."""
        cache = self._hub_auth.cache
        for key, model in list(cache.values.items()):
            # None for a token that the hub does not know.
            if model is None or model["name"] != self._owner:
                cache.values.pop(key, None)
                cache.timestamps.pop(key, None)
        allowed: dict[str, bool] = {}
        for socket in list(self._sockets):
            token = self._hub_auth.get_token(socket) or ""
            if token not in allowed:
                allowed[token] = await self._is_allowed(token)
            if not allowed[token]:
                self._sockets.discard(socket)
                socket.close(reason="The owner no longer shares this session.")

    def _refuse(self, *_: Any, **__: Any) -> None:
        raise HTTPError(
            403,
            f"This session belongs to {self._owner} and is not shared with you, or no longer. Ask"
            f" {self._owner} to let you in.",
        )

    async def _is_allowed(self, token: str) -> bool:
        try:
            model = await self._hub_auth.user_for_token(token, use_cache=False, sync=False)
        except HTTPError as error:
            # The hub does not answer; whoever was let in stays until it does.
            self._log.warning("The hub does not say whether a guest may stay: %s", error)
            return True
        return bool(model and self._hub_auth.check_scopes(self._hub_auth.access_scopes, model))

    async def _check_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_S)
            try:
                await self.check()
            except Exception:
                # One odd answer must not let guests stay for good.
                self._log.exception("Guests of the session were not checked")
