"""Stops a session, or cancels its start, from a plain HTML form: works without JavaScript."""

import asyncio
from typing import Any

from jupyterhub.handlers import BaseHandler
from jupyterhub.scopes import needs_scope
from jupyterhub.utils import AnyTimeoutError, exponential_backoff
from tornado.web import HTTPError, authenticated

from spawner.hub.session_mixin import SessionMixin
from spawner.session.session_end import SessionEnd

ROUTE = r"/portal/stop/([^/]+)(?:/([^/]+))?"
_CANCEL_TIMEOUT_S = 10.0


class StopHandler(BaseHandler):
    """Takes the form's POST and redirects to the home page; Tornado checks its XSRF token."""

    @authenticated
    @needs_scope("delete:servers")  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str | None = None) -> None:
        """Stop the session, whether it is running or still starting.

        `server_name` is None for the session without a name.
        """
        await stop_session(self, user_name, server_name or "")
        self.redirect(f"{self.hub.base_url}home")


async def stop_session(handler: BaseHandler, user_name: str, name: str) -> None:
    """Stop a session, whether it is running or still starting.

    The caller, `handler`, has checked that it may. `name` is empty for the session without one.

    Raises:
        HTTPError: 404 if there is no such session, 503 if its start cannot be cancelled, 502 if its
            job could not be.
    """
    user = handler.find_user(user_name)
    if user is None or name not in user.spawners:
        raise HTTPError(404, "There is no such session. It may have been stopped already.")
    spawner = user.spawners[name]
    # stop_single_user raises while a start is pending.
    if spawner.pending == "spawn":
        await _cancel_start(spawner)
    # A session that is already stopping needs no second stop.
    if not spawner.pending:
        await handler.stop_single_user(user, name)
    # Another spawner than the portal's keeps no reason.
    ending: SessionEnd | None = getattr(spawner, "ending", None)
    if ending is not None and ending.may_run:
        raise HTTPError(502, ending.error.message)


def stop_route() -> tuple[str, type[StopHandler]]:
    """Return the route to which the form posts."""
    return (ROUTE, StopHandler)


async def _cancel_start(spawner: SessionMixin) -> None:
    start: asyncio.Future[Any] | None = spawner._spawn_future
    if start is not None:
        start.cancel()
    try:
        # cancel() only asks for the end of the start.
        await exponential_backoff(
            lambda: not spawner._spawn_pending,
            "the start continues",
            start_wait=0.02,
            max_wait=0.2,
            timeout=_CANCEL_TIMEOUT_S,
        )
    except AnyTimeoutError as error:
        message = "The start could not be cancelled. Try again in a minute."
        raise HTTPError(503, message) from error
