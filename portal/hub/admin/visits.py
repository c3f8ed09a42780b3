"""Audit log: one line each time somebody uses another user's session or account."""

import re
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import unquote

from jupyterhub import orm
from jupyterhub.apihandlers import APIHandler
from jupyterhub.handlers import BaseHandler
from jupyterhub.log import log_request
from jupyterhub.user import User
from pydantic import BaseModel, Field

from portal.hub.auth.client_address import client_address, parse_networks
from spawner.hub.port_api import read_report, spawner_of_token

ROUTE = "/api/dsportal/visit"
_AUTHORIZE = re.compile(r".*/api/oauth2/authorize")
# What changes something of one user: server, token, notice of a stop, start.
_OF_A_USER = re.compile(
    r".*/hub/(?:api/users|api/dsportal/users|spawn|portal/stop|cluster/stop)/(?P<name>[^/]+)(?:/.*)?"
)
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# What a session reports goes into the log, so no control characters.
_Printable = Annotated[str, Field(pattern=r"^[\x20-\x7e]{1,200}$")]


class _VisitReport(BaseModel):
    visitor: _Printable
    address: _Printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One use of something that belongs to another user.

    Attributes:
        host: Whose session or account it is.
        what: What was done; the log line goes "VISITOR WHAT HOST".
    """

    visitor: str
    host: str
    what: str


def log_visits(handler: BaseHandler) -> None:
    """Log an answered request of `handler` as JupyterHub does; log a visit in a second line."""
    log_request(handler)
    visit = read_visit(handler) if isinstance(handler, BaseHandler) else None
    if visit is not None:
        handler.log.warning(
            "%s %s %s, from %s",
            visit.visitor,
            visit.what,
            visit.host,
            request_address(handler),
            extra={"user": visit.visitor},
        )


def request_address(handler: BaseHandler) -> str:
    """Return the client address of the request of `handler`; a client cannot forge it."""
    networks = parse_networks(handler.authenticator.trusted_proxies)
    return client_address(handler.request, networks)


def read_visit(handler: BaseHandler) -> Visit | None:
    """Return the visit that an answered request of `handler` was, if it succeeded.

    Returns:
        None for anything but a visit, such as one's own session or a refused request.
    """
    # JupyterHub sets it before each answer; `current_user` raises if the request never got so far.
    visitor = getattr(handler, "_jupyterhub_user", None)
    if not isinstance(visitor, User) or handler.get_status() >= 400:
        return None
    path, method = handler.request.path, handler.request.method
    if _AUTHORIZE.fullmatch(path):
        host = _opened_session(handler)
        what = "opened the session of"
    else:
        found = _OF_A_USER.fullmatch(path) if method in _CHANGING else None
        host = unquote(found["name"]) if found else ""
        what = f"asked for {method} {path}, which belongs to"
    if not host or host == visitor.name:
        return None
    return Visit(visitor=visitor.name, host=host, what=what)


def _opened_session(handler: BaseHandler) -> str:
    # Only a redirect back with a code opens the session; the page that asks does not.
    if "code=" not in handler._headers.get("Location", ""):
        return ""
    client = (
        handler.db.query(orm.OAuthClient)
        .filter_by(identifier=handler.get_argument("client_id", ""))
        .first()
    )
    spawner = client.spawner if client is not None else None
    return str(spawner.user.name) if spawner is not None else ""


class VisitHandler(APIHandler):
    """Takes `{"visitor": NAME, "address": TEXT}` from a session that another user has opened."""

    async def post(self) -> None:
        """Log the visit: 204."""
        spawner = spawner_of_token(self)
        visit = read_report(self, _VisitReport, '{"visitor": NAME, "address": TEXT}')
        self.log.warning(
            # A session belongs to its user, who could report anything.
            "%s uses the session of %s, from %s, as that session says",
            visit.visitor,
            spawner.user.name,
            visit.address,
            extra={"user": visit.visitor},
        )
        self.set_status(204)


def visit_route() -> tuple[str, type[VisitHandler]]:
    """Return the route to which sessions report visits."""
    return (ROUTE, VisitHandler)
