"""Sessions shared with colleagues: JupyterHub's shares, from forms on the home page.

Whoever may open a session runs code in it as its owner, so a share has no lesser rights. It ends
with the session.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from jupyterhub import orm
from jupyterhub.handlers import BaseHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError, authenticated

SHARE_ROUTE = r"/portal/share/([^/]+)(?:/([^/]+))?"
UNSHARE_ROUTE = r"/portal/unshare/([^/]+)(?:/([^/]+))?"


class ShareKind(Enum):
    """With whom a session is shared."""

    USER = "user"
    GROUP = "group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One share of a session, as its owner sees it."""

    kind: ShareKind
    name: str

    @property
    def words(self) -> str:
        """How the page names it."""
        return self.name if self.kind is ShareKind.USER else f"group {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSession:
    """A session of somebody else that a user may open."""

    title: str
    url: str


def list_shares(spawner: Any) -> tuple[Share, ...]:
    """Return with whom the session of a spawner is shared, sorted by name."""
    shares = []
    for share in spawner.orm_spawner.shares:
        if share.user is not None:
            shares.append(Share(kind=ShareKind.USER, name=share.user.name))
        elif share.group is not None:
            shares.append(Share(kind=ShareKind.GROUP, name=share.group.name))
    return tuple(sorted(shares, key=lambda share: (share.kind.value, share.name)))


def list_shared_sessions(user: Any) -> tuple[SharedSession, ...]:
    """Return the running sessions of others that a user may open."""
    found = {}
    for share in user.orm_user.all_shared_with_me:
        owner, name = share.owner, share.spawner.name
        if share.spawner.server is None or owner.id == user.orm_user.id:
            continue
        title = f"The session {name} of {owner.name}" if name else f"The session of {owner.name}"
        # Of JupyterHub's own class, which knows the addresses of sites with subdomains.
        url = type(user)(owner, user.settings, user.db).server_url(name)
        found[title] = SharedSession(title=title, url=url)
    return tuple(found[title] for title in sorted(found))


def end_shares(spawner: Any) -> None:
    """End all shares of the session of a spawner: the next one begins without."""
    db, orm_spawner = spawner.user.db, spawner.orm_spawner
    shares = list(orm_spawner.shares) if orm_spawner is not None else []
    for share in shares:
        db.delete(share)
    if shares:
        db.commit()


class _ShareHandler(BaseHandler):
    """Base of both handlers: finds the session, and whom the form names."""

    def initialize(self, *, is_offered: bool) -> None:
        """Take what portal.toml says."""
        self._is_offered = is_offered

    def find_spawner(self, user_name: str, server_name: str | None) -> Any:
        """Return the spawner of a session of the current user.

        Raises:
            HTTPError: 404 if there is none, or sharing is off.
        """
        user, name = self.current_user, server_name or ""
        # Nobody shares in somebody else's name, administrators included.
        is_own = user.name == user_name and (not name or name in user.orm_spawners)
        if not self._is_offered or not is_own:
            raise HTTPError(404, "There is no such session that you could share.")
        return user.spawners[name]

    def find_partner(self) -> Any:
        """Return the user or group of JupyterHub's database that the form names.

        Raises:
            HTTPError: 400 with the next step if there is none.
        """
        name = self.get_body_argument("name", "").strip()
        kind = self.get_body_argument("kind", ShareKind.USER.value)
        if kind == ShareKind.GROUP.value:
            groups = {group.name: group for group in self.current_user.orm_user.groups}
            if name not in groups:
                listed = ", ".join(sorted(groups)) or "none"
                message = f"You are not in a group {name!r}. Your groups: {listed}."
                raise HTTPError(400, message)
            return groups[name]
        partner = orm.User.find(self.db, self.authenticator.normalize_username(name))
        if partner is None:
            message = (
                f"Nobody named {name!r} has used this portal. Check the name, or ask them to log in"
                " once."
            )
            raise HTTPError(400, message)
        if partner is self.current_user.orm_user:
            raise HTTPError(400, "This session is your own. Name a colleague.")
        return partner


class ShareHandler(_ShareHandler):
    """Shares a session with a user or a group."""

    @authenticated  # type: ignore[untyped-decorator]
    @needs_scope("servers")  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str | None = None) -> None:
        """Share it, and show the home page again.

        Raises:
            HTTPError: 404 if there is no such session, 400 if it does not run, or nobody is known
                by that name.
        """
        spawner = self.find_spawner(user_name, server_name)
        if not spawner.ready:
            raise HTTPError(400, "Only a running session can be shared. Start it first.")
        partner = self.find_partner()
        orm.Share.grant(self.db, spawner.orm_spawner, partner)
        self.log.warning(
            "%s shares the session %s with %s %s",
            user_name,
            spawner.name or "without a name",
            partner.kind,
            partner.name,
            extra={"user": user_name},
        )
        self.redirect(f"{self.hub.base_url}home")


class UnshareHandler(_ShareHandler):
    """Ends one share of a session."""

    @authenticated  # type: ignore[untyped-decorator]
    @needs_scope("servers")  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str | None = None) -> None:
        """End it, and show the home page again.

        Raises:
            HTTPError: 404 if there is no such session.
        """
        spawner = self.find_spawner(user_name, server_name)
        wanted = (self.get_body_argument("kind", ""), self.get_body_argument("name", ""))
        for share in list(spawner.orm_spawner.shares):
            partner = share.user or share.group
            if partner is not None and (partner.kind, partner.name) == wanted:
                self.db.delete(share)
        self.db.commit()
        self.log.warning(
            "%s no longer shares the session %s with %s %s",
            user_name,
            spawner.name or "without a name",
            *wanted,
            extra={"user": user_name},
        )
        self.redirect(f"{self.hub.base_url}home")


def share_routes(*, is_offered: bool) -> list[Any]:
    """Return the routes of both forms; they answer 404 unless sharing `is_offered`."""
    offered = {"is_offered": is_offered}
    return [(SHARE_ROUTE, ShareHandler, offered), (UNSHARE_ROUTE, UnshareHandler, offered)]
