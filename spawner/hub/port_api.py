"""The API route where a session's server reports its port, once, with its own token."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from jupyterhub.apihandlers import APIHandler
from pydantic import BaseModel, ValidationError
from tornado.web import HTTPError

from spawner.certificates import check_certificate
from spawner.hub.patches.routes import add_api_routes
from spawner.session.end_reason import read_log_lines
from spawner.taken_ports import find_taken

if TYPE_CHECKING:
    from spawner.hub.session_mixin import SessionMixin

ROUTE = "/api/dsportal/port"
# batchspawner's handler sets any attribute of the spawner that is posted, even its commands.
_REFUSED_ROUTE = "/api/batchspawner"
# A session's certificate has 627 bytes as PEM.
_MOST_BODY_BYTES = 4096
# Ports that the kernel gives to unprivileged programs.
LOWEST_PORT, HIGHEST_PORT = 1024, 65535

Report = TypeVar("Report", bound=BaseModel)


class _PortReport(BaseModel, strict=True, extra="forbid"):
    port: int
    certificate: str = ""


class PortHandler(APIHandler):
    """Takes `{"port": N}`, or `{"port": N, "certificate": PEM}` from a session with TLS.

    204: taken; 400: not one integer that the site allows, or not the session's certificate;
    403: not a token of a session that is starting; 409: the session does not wait for a port
    (any more).
    """

    async def post(self) -> None:
        """Take the port of the session whose server holds the token."""
        spawner = spawner_of_token(self)
        report = read_report(self, _PortReport, '{"port": N} with one integer N')
        port = report.port
        try:
            certificate = report.certificate and check_certificate(report.certificate)
        except ValueError:
            raise HTTPError(400, "Send exactly one certificate, in PEM format.") from None
        is_in_range = spawner.port_min <= port <= spawner.port_max
        if not is_in_range and not (spawner.any_port and LOWEST_PORT <= port <= HIGHEST_PORT):
            raise HTTPError(
                400,
                f"The port {port} is outside {spawner.port_min} to {spawner.port_max}, "
                "the range of this site. Choose one inside.",
            )
        if spawner.needs_certificate and not certificate:
            raise HTTPError(
                400, "This session must report its certificate, too. Start a new session."
            )
        if not spawner.take_port(port, certificate):
            raise HTTPError(409, "This session is not waiting for a port. Start a new session.")
        self.set_status(204)
        # Answered first: the session's log may come late.
        self.finish()
        if not is_in_range:
            await self._log_taken(spawner, port)

    async def _log_taken(self, spawner: SessionMixin, port: int) -> None:
        session = spawner.session
        lines = (
            await read_log_lines(spawner.cluster.slurm, session.key, secrets=()) if session else ""
        )
        spawner.log.warning(
            "The session of %s listens on port %d, outside %d to %d. %s",
            spawner.user.name,
            port,
            spawner.port_min,
            spawner.port_max,
            find_taken(lines) or "Its log does not say why.",
        )


def read_report(handler: APIHandler, kind: type[Report], form: str) -> Report:
    """Return what a session's server reports; anything but a `form` of JSON is refused."""
    body = handler.request.body
    try:
        return kind.model_validate_json(body if len(body) <= _MOST_BODY_BYTES else b"")
    except ValidationError:
        raise HTTPError(400, f"The body has to be {form}.") from None


def spawner_of_token(handler: APIHandler) -> SessionMixin:
    """Return the spawner of the session whose server makes the request."""
    # A browser's cookie is not enough: only the server on the node holds the token.
    token = handler.get_token()
    if token is not None and token.user is not None:
        spawner: SessionMixin
        for spawner in handler.users[token.user].spawners.values():
            if hasattr(spawner, "owns_token") and spawner.owns_token(token.id):
                return spawner
    raise HTTPError(403, "Only a session's own server may make this request, with its own token.")


def register() -> None:
    """Replace batchspawner's handler with this one."""
    add_api_routes([(ROUTE, PortHandler)], without=_REFUSED_ROUTE)
