"""REST API for administrators: lists the portal's users and removes those who leave.

* GET /hub/api/dsportal/users: every user in the hub's database.
* GET /hub/api/dsportal/users/NAME: that user.
* DELETE /hub/api/dsportal/users/NAME: stop the sessions, revoke tokens and cookies, forget
  the user; 409 while the account may still log in, unless the body has `"force": "yes"`.

They need a token with the scope admin:servers for all users, which only the operator's and a full
administrator's has. Files are not touched.
"""

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from jupyterhub import orm
from jupyterhub.handlers import BaseHandler
from jupyterhub.scopes import needs_scope
from jupyterhub.utils import maybe_future
from tornado.web import HTTPError

from portal.hub.admin.api import SCOPE, OperationHandler
from portal.hub.auth.account_status import AccountStatus, LoginPermission
from portal.hub.pages.stop_handler import stop_session

# Accounts checked at the same time; each may wait for LDAP.
_N_AT_ONCE = 8


class UsersHandler(OperationHandler):
    """Lists all users."""

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Answer with a JSON object: each user's sessions, tokens and standing."""
        limit = asyncio.Semaphore(_N_AT_ONCE)

        async def look(name: str) -> AccountStatus:
            async with limit:
                return await read_account_status(self, name)

        users = self.db.query(orm.User).order_by(orm.User.name).all()
        standings = await asyncio.gather(*(look(user.name) for user in users))
        told = [describe_user(user, status) for user, status in zip(users, standings, strict=True)]
        self.finish(json.dumps({"users": told}))


class UserHandler(OperationHandler):
    """Tells of a user, and removes the user from the portal."""

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def get(self, user_name: str) -> None:
        """Answer as the list of users has it, and with `refusal`, why not to remove: 200."""
        user = self._find(user_name)
        status = await read_account_status(self, user.name)
        _, refusal = _refusal(user.name, status)
        self.finish(json.dumps(describe_user(user.orm_user, status) | {"refusal": refusal}))

    def _find(self, user_name: str) -> Any:
        user = self.find_user(user_name)
        if user is None:
            raise HTTPError(404, f"The hub knows no user {user_name}. See dsportal users list.")
        return user

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def delete(self, user_name: str) -> None:
        """Remove the user: 200 with the numbers of sessions stopped and tokens revoked."""
        user = self._find(user_name)
        if self.body().get("force") != "yes":
            code, refusal = _refusal(user.name, await read_account_status(self, user.name))
            if refusal:
                raise HTTPError(code, refusal)
        # Sessions first: without the user's row the hub could not stop them.
        names = [name for name, spawner in user.spawners.items() if spawner.active]
        for name in names:
            await stop_session(self, user.name, name)
        if any(spawner.active for spawner in user.spawners.values()):
            raise HTTPError(503, f"A session of {user.name} is still stopping. Try again soon.")
        # Before the row is deleted, and its tokens with it.
        n_tokens = len(user.orm_user.api_tokens)
        await maybe_future(self.authenticator.delete_user(user))
        await maybe_future(user.delete_spawners())
        # Tokens, sessions' cookies and the cookie of the login go with the row of the user.
        self.users.delete(user)
        self.log.warning("Removed %s with %d tokens", user_name, n_tokens)
        self.finish(json.dumps({"user": user_name, "sessions": len(names), "tokens": n_tokens}))


async def read_account_status(handler: BaseHandler, name: str) -> AccountStatus:
    """Return whether a user may still log in, as the authenticator of `handler` says.

    Returns:
        LoginPermission.UNKNOWN with an authenticator that is not the portal's.
    """
    standings = getattr(handler.authenticator, "standings", None)
    if standings is None:
        return AccountStatus(
            verdict=LoginPermission.UNKNOWN, reason="the authenticator cannot tell."
        )
    status: AccountStatus = await standings.of(name)
    return status


def describe_user(user: orm.User, status: AccountStatus) -> dict[str, Any]:
    """Return what administrators want to know of a user, as a JSON object."""
    seen: datetime | None = user.last_activity
    # Everybody has JupyterHub's role "user".
    roles = {role.name for role in user.roles} - {"user"}
    return {
        "user": user.name,
        "last_seen": f"{seen:%Y-%m-%d}" if seen else "",
        "sessions": sum(spawner.server is not None for spawner in user.orm_spawners.values()),
        "tokens": len(user.api_tokens),
        "administrator": ", ".join(sorted(roles)),
        "account": status.verdict.value,
        "reason": status.reason,
    }


def _refusal(name: str, status: AccountStatus) -> tuple[int, str]:
    """Return why a user is not removed, with the HTTP status; "" if nothing speaks against it."""
    if status.verdict is LoginPermission.MAY:
        return 409, (
            f"{name} may still log in and could return at once. Close the account, or take it off"
            " the lists in portal.toml, first. Or add --even-if-allowed."
        )
    if status.verdict is LoginPermission.UNKNOWN:
        return 503, (
            f"It is not known whether {name} may still log in: {status.reason} Try again later,"
            " or add --even-if-allowed."
        )
    return 200, ""


def people_routes(*, notices_path: Path, drain_path: Path) -> list[Any]:
    """Return the routes of this module for `JupyterHub.extra_handlers`."""
    kept = {"notices_path": str(notices_path), "drain_path": str(drain_path)}
    return [
        (r"/api/dsportal/users", UsersHandler, kept),
        (r"/api/dsportal/users/([^/]+)", UserHandler, kept),
    ]
