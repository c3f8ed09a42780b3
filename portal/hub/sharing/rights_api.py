"""The API route where a session's server asks what a guest may do, with its own token."""

import json
from pathlib import Path
from typing import Any

from jupyterhub import orm
from jupyterhub.apihandlers import APIHandler
from jupyterhub.roles import get_roles_for, roles_to_expanded_scopes
from jupyterhub.scopes import has_scope

from portal.hub.sharing.grants import Rights, shared_grants
from portal.hub.sharing.shares import key_of
from spawner.hub.port_api import spawner_of_token
from spawner.hub.session_mixin import SessionMixin

ROUTE = r"/api/dsportal/guests/([^/]+)"


class GuestHandler(APIHandler):
    """Tells a session what somebody else may do in it."""

    def initialize(self, *, grants_path: Path) -> None:
        """Find the grants."""
        self._grants = shared_grants(grants_path)

    async def get(self, name: str) -> None:
        """Answer with `Rights`: 200, also for somebody who may do nothing; 403 for other tokens."""
        spawner = spawner_of_token(self)
        user = orm.User.find(self.db, name)
        rights = Rights()
        if user is not None:
            # A share that has ended leaves no rights, whatever the file says.
            rights = self._shared(spawner, user)
            if may_by_role(self.db, user, spawner):
                rights = Rights(may_work=True)
        self.finish(json.dumps(rights.as_json()))

    def _shared(self, spawner: SessionMixin, user: orm.User) -> Rights:
        shares = spawner.orm_spawner.shares
        groups = {share.group.name for share in shares if share.group in user.groups}
        is_named = any(share.user is user for share in shares)
        key = key_of(spawner)
        return self._grants.rights(key, user.name if is_named else "", frozenset(groups))


def may_by_role(db: Any, user: orm.User, spawner: SessionMixin) -> bool:
    """Return whether a role in `db`, such as an administrator's, opens the session of `spawner`."""
    scopes = roles_to_expanded_scopes(get_roles_for(user), owner=user)
    wanted = f"access:servers!server={spawner.user.name}/{spawner.name}"
    return bool(has_scope(wanted, scopes, db=db))


def guest_route(grants_path: Path) -> tuple[str, type[GuestHandler], dict[str, Any]]:
    """Return the route of which sessions ask what guests may do."""
    return (ROUTE, GuestHandler, {"grants_path": grants_path})
