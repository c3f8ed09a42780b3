"""Sessions shared with colleagues: JupyterHub's shares, with a grant that says what each may do.

Whoever may work in a session runs code in it as its owner. Whoever may read sees notebooks only:
the session's server asks here and refuses everything else. All of it ends with the session.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyterhub import orm
from jupyterhub.handlers import BaseHandler
from jupyterhub.scopes import needs_scope
from jupyterhub.user import User
from tornado.httputil import url_concat
from tornado.web import HTTPError, authenticated

from portal.hub.sharing.grants import (
    Grant,
    Grants,
    May,
    ShareKind,
    clean_document,
    session_key,
    shared_grants,
)
from spawner.hub.session_mixin import SessionMixin

SHARE_ROUTE = r"/portal/share/([^/]+)(?:/([^/]+))?"
UNSHARE_ROUTE = r"/portal/unshare/([^/]+)(?:/([^/]+))?"
SHARING_ROUTE = r"/portal/sharing/([^/]+)(?:/([^/]+))?"
# Below a session: what those see who may only read.
READING_PAGE = "portal/reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSession:
    """A session of somebody else that a user may open."""

    title: str
    url: str
    may_work: bool


def list_shares(spawner: SessionMixin, grants: Grants) -> tuple[Grant, ...]:
    """Return what guests of the session of `spawner` may do, sorted by name.

    A share without a grant, which JupyterHub's REST interface or an earlier release made, counts as
    one for everything, so that it can be ended.
    """
    given = grants.of(key_of(spawner))
    named = {(one.kind, one.name) for one in given}
    shares = set(given)
    for share in spawner.orm_spawner.shares:
        partner = share.user or share.group
        if partner is not None and (ShareKind(partner.kind), partner.name) not in named:
            kind = ShareKind(partner.kind)
            shares.add(Grant(kind=kind, name=partner.name, may=May.WORK))
    return tuple(
        sorted(shares, key=lambda one: (one.kind.value, one.name, one.may.value, one.document))
    )


def list_shared_sessions(user: User, grants: Grants) -> tuple[SharedSession, ...]:
    """Return the running sessions of others that a user may open."""
    found = {}
    groups = frozenset(group.name for group in user.orm_user.groups)
    for share in user.orm_user.all_shared_with_me:
        owner, name = share.owner, share.spawner.name
        if share.spawner.server is None or owner.id == user.orm_user.id:
            continue
        key = session_key(owner.name, name)
        may_work = not grants.knows(key) or grants.rights(key, user.name, groups).may_work
        title = f"The session {name} of {owner.name}" if name else f"The session of {owner.name}"
        if not may_work:
            title += ", to read"
        # Of JupyterHub's own class, which knows the addresses of sites with subdomains.
        url = type(user)(owner, user.settings, user.db).server_url(name)
        found[title] = SharedSession(
            title=title, url=url if may_work else url + READING_PAGE, may_work=may_work
        )
    return tuple(found[title] for title in sorted(found))


def key_of(spawner: SessionMixin) -> str:
    """Return how grants name the session of a spawner."""
    return session_key(spawner.user.name, spawner.name)


def end_shares(spawner: SessionMixin, grants: Grants) -> None:
    """End all shares of the session of a spawner: the next one begins without."""
    grants.end_all(key_of(spawner))
    db, orm_spawner = spawner.user.db, spawner.orm_spawner
    shares = list(orm_spawner.shares) if orm_spawner is not None else []
    for share in shares:
        db.delete(share)
    if shares:
        db.commit()


class _ShareHandler(BaseHandler):
    """Base of the handlers: finds the session, and whom the form names."""

    def initialize(self, *, is_offered: bool, grants_path: Path) -> None:
        """Take what portal.toml says, and find the grants."""
        self._is_offered = is_offered
        self.grants = shared_grants(grants_path)

    def find_spawner(self, user_name: str, server_name: str | None) -> Any:
        """Return the spawner of a session of the current user."""
        user, name = self.current_user, server_name or ""
        # Nobody shares in somebody else's name, administrators included.
        is_own = user.name == user_name and (not name or name in user.orm_spawners)
        if not self._is_offered or not is_own:
            raise HTTPError(404, "There is no such session that you could share.")
        return user.spawners[name]

    def find_partner(self) -> Any:
        """Return the user or group of JupyterHub's database that the form names."""
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

    def read_permission(self) -> tuple[May, str]:
        """Return what the form allows, and the one notebook for which it does."""
        may = self.get_body_argument("may", "")
        if may in {May.WORK.value, May.READ.value}:
            return May(may), ""
        document = clean_document(self.get_body_argument("document", ""))
        if may != "document" or not document:
            raise HTTPError(
                400,
                "Say what your colleague may do: work as you, read the notebooks that you open, or"
                " read one notebook, whose path ends with .ipynb, such as work/results.ipynb.",
            )
        return May.READ, document

    def show_again(self, user_name: str, server_name: str | None) -> None:
        """Lead back to the page that has the form."""
        if self.get_body_argument("page", "") != "sharing":
            self.redirect(f"{self.hub.base_url}home")
            return
        path = "/".join(filter(None, (user_name, server_name)))
        document = clean_document(self.get_body_argument("shown", ""))
        self.redirect(
            url_concat(
                f"{self.hub.base_url}portal/sharing/{path}",
                {"document": document} if document else {},
            )
        )

    def note(self, spawner: SessionMixin, grant: Grant, what: str) -> None:
        """Log who shares what."""
        self.log.warning(
            "%s %s session %s with %s %s, who %s%s",
            spawner.user.name,
            what,
            spawner.name or "without a name",
            grant.kind.value,
            grant.name,
            "may " + grant.may.value,
            f" {grant.document!r}" if grant.document else "",
            extra={"user": spawner.user.name},
        )


class SharingPage(_ShareHandler):
    """The page that JupyterLab opens: who has access to a session, and the form."""

    @authenticated
    @needs_scope("servers")  # type: ignore[untyped-decorator]
    async def get(self, user_name: str, server_name: str | None = None) -> None:
        """Show it; `document` is the notebook from which it was opened."""
        spawner = self.find_spawner(user_name, server_name)
        page = await self.render_template(
            "sharing.html",
            document=clean_document(self.get_query_argument("document", "")),
            shares=list_shares(spawner, self.grants),
            reads=self.grants.knows(key_of(spawner)),
            is_ready=bool(spawner.ready),
            server_name=spawner.name,
        )
        self.finish(page)


class ShareHandler(_ShareHandler):
    """Shares a session with a user or a group."""

    @authenticated
    @needs_scope("servers")  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str | None = None) -> None:
        """Share it, and show the page again."""
        spawner = self.find_spawner(user_name, server_name)
        if not spawner.ready:
            raise HTTPError(400, "Only a running session can be shared. Start it first.")
        may, document = self.read_permission()
        partner = self.find_partner()
        key, kind = key_of(spawner), ShareKind(partner.kind)
        if may is May.READ and not self.grants.knows(key):
            raise HTTPError(
                400,
                "This session was started before the portal was upgraded or restored, and might let"
                " a guest do everything. Stop it and start another one to let somebody read only.",
            )
        grant = Grant(kind=kind, name=partner.name, may=may, document=document)
        # The grant first: a share without one opens nothing.
        if self.grants.knows(key) and not self.grants.give(key, grant):
            raise HTTPError(400, "This session has 100 guests. End one of them first.")
        orm.Share.grant(self.db, spawner.orm_spawner, partner)
        self.note(spawner, grant, "shares")
        self.show_again(user_name, server_name)


class UnshareHandler(_ShareHandler):
    """Ends one permission of a guest."""

    @authenticated
    @needs_scope("servers")  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str | None = None) -> None:
        """End it, and show the page again."""
        spawner = self.find_spawner(user_name, server_name)
        try:
            grant = Grant(
                kind=ShareKind(self.get_body_argument("kind", "")),
                name=self.get_body_argument("name", ""),
                may=May(self.get_body_argument("may", May.WORK.value)),
                document=self.get_body_argument("document", ""),
            )
        except ValueError:
            raise HTTPError(400, "There is no such guest.") from None
        if self.grants.end(key_of(spawner), grant):
            self._end_share(spawner, grant)
        self.note(spawner, grant, "no longer shares")
        self.show_again(user_name, server_name)

    def _end_share(self, spawner: SessionMixin, grant: Grant) -> None:
        for share in list(spawner.orm_spawner.shares):
            partner = share.user or share.group
            if partner is not None and (partner.kind, partner.name) == (
                grant.kind.value,
                grant.name,
            ):
                self.db.delete(share)
        self.db.commit()


def share_routes(*, is_offered: bool, grants_path: Path) -> list[Any]:
    """Return the routes of the forms; they answer 404 unless sharing `is_offered`."""
    offered = {"is_offered": is_offered, "grants_path": grants_path}
    return [
        (SHARING_ROUTE, SharingPage, offered),
        (SHARE_ROUTE, ShareHandler, offered),
        (UNSHARE_ROUTE, UnshareHandler, offered),
    ]
