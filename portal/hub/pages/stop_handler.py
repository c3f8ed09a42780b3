"""Stopping a session, or cancelling its start, with a plain form: works without JavaScript."""

from __future__ import annotations

import asyncio
from typing import Any

from jupyterhub.handlers import BaseHandler
from jupyterhub.scopes import needs_scope
from jupyterhub.utils import AnyTimeoutError, exponential_backoff
from tornado.web import HTTPError, authenticated

ROUTE = r"/portal/stop/([^/]+)(?:/([^/]+))?"
_CANCEL_TIMEOUT_S = 10.0


class StopHandler(BaseHandler):
    """Takes the form's POST and leads to the server page; tornado checks its XSRF token."""

    @authenticated  # type: ignore[untyped-decorator]
    @needs_scope("delete:servers")  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str | None = None) -> None:
        """Stop the session, whether it runs or still starts.

        Args:
            user_name: Whose session.
            server_name: Which one; None for the one without a name.
        """
        await stop_session(self, user_name, server_name or "")
        self.redirect(f"{self.hub.base_url}home")


async def stop_session(handler: BaseHandler, user_name: str, name: str) -> None:
    """Stop a session, whether it runs or still starts.

    Args:
        handler: Who was asked to; has checked that it may be done.
        user_name: Whose session.
        name: Which one; empty for the one without a name.

    Raises:
        HTTPError: 404 where there is no such session, 503 where its start cannot be cancelled.
    """
    user = handler.find_user(user_name)
    if user is None or name not in user.spawners:
        raise HTTPError(404, "There is no such session. It may have been stopped already.")
    spawner = user.spawners[name]
    if spawner.pending == "spawn":
        await _cancel_start(spawner)
    if not spawner.pending:
        await handler.stop_single_user(user, name)


def stop_route() -> tuple[str, type[StopHandler]]:
    """Return the route of the form, below the hub's own address."""
    return (ROUTE, StopHandler)


async def _cancel_start(spawner: Any) -> None:
    start: asyncio.Future[Any] | None = spawner._spawn_future
    if start is not None:
        start.cancel()
    try:
        await exponential_backoff(
            lambda: not spawner._spawn_pending,
            "the start goes on",
            start_wait=0.02,
            max_wait=0.2,
            timeout=_CANCEL_TIMEOUT_S,
        )
    except AnyTimeoutError as error:
        message = "The start could not be cancelled just now. Try again in a minute."
        raise HTTPError(503, message) from error
