"""The form's address, which a link may fill in, and what its script asks for."""

from __future__ import annotations

from collections.abc import Awaitable
from urllib.parse import urlencode

from jupyterhub import handlers
from jupyterhub.handlers import BaseHandler
from jupyterhub.handlers.pages import SpawnHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError, authenticated

from portal.hub.form.defaults import options_of_link
from portal.hub.form.form import SENT_OPTIONS, local_clock
from portal.hub.form.view import describe_form
from spawner.errors import PortalError

CHOICES_ROUTE = r"/portal/choices/([^/]+)"
# The script waits beside a page that can be used already.
_FORECAST_WAIT_S = 8.0
_OF_JUPYTERHUB = frozenset({"next", "display_name"})


class FormHandler(SpawnHandler):
    """Shows the form. JupyterHub's own would start a session for whoever opens a link."""

    def get(self, user_name: str | None = None, server_name: str = "") -> Awaitable[None]:
        """Show the form with the choice of the address marked.

        Args:
            user_name: Whose session; None for that of who asks.
            server_name: Not used by the portal.

        Returns:
            What tornado waits for.
        """
        SENT_OPTIONS.set(options_of_link(_texts(self.request.query_arguments)))
        self._forget_link()
        shown: Awaitable[None] = super().get(user_name, server_name)
        return shown

    def post(
        self, user_name: str | None = None, server_name: str = "", display_name: str = ""
    ) -> Awaitable[None]:
        """Start a session; where it is refused, the form comes again as it was sent.

        Args:
            user_name: Whose session; None for that of who asks.
            server_name: Not used by the portal.
            display_name: Not used by the portal.

        Returns:
            What tornado waits for.
        """
        SENT_OPTIONS.set(options_of_link(_texts(self.request.body_arguments)))
        self._forget_link()
        started: Awaitable[None] = super().post(user_name, server_name, display_name)
        return started

    def _forget_link(self) -> None:
        # JupyterHub would start what the address says, and hand it on to the notebook server.
        arguments = self.request.query_arguments
        kept = {name: values for name, values in arguments.items() if name in _OF_JUPYTERHUB}
        self.request.query_arguments = kept
        self.request.query = urlencode(kept, doseq=True)


class ChoicesHandler(BaseHandler):
    """Answers with the choices of a form and when each would start, as JSON."""

    @authenticated  # type: ignore[untyped-decorator]
    @needs_scope("servers")  # type: ignore[untyped-decorator]
    async def get(self, user_name: str) -> None:
        """Answer for the choice in the address.

        Args:
            user_name: Whose form.

        Raises:
            HTTPError: 404 where there is no such user.
        """
        user = self.find_user(user_name)
        if user is None:
            raise HTTPError(404)
        spawner = user.spawner
        wanted = options_of_link(_texts(self.request.query_arguments))
        self.set_header("Cache-Control", "no-store")
        try:
            catalog = await spawner.read_catalog()
            view = await describe_form(
                spawner, catalog, wanted, now=local_clock(), wait_s=_FORECAST_WAIT_S
            )
        except PortalError as error:
            self.set_status(error.http_status)
            self.finish({"message": error.message})
            return
        self.finish(view.to_json())


def register() -> None:
    """Put the form in the place of JupyterHub's page that starts sessions from links."""
    routes = handlers.default_handlers
    routes[:] = [
        (route[0], FormHandler, *route[2:]) if route[1] is SpawnHandler else route
        for route in routes
    ]


def choices_route() -> tuple[str, type[ChoicesHandler]]:
    """Return the route of the form's script, below the hub's own address."""
    return (CHOICES_ROUTE, ChoicesHandler)


def _texts(arguments: dict[str, list[bytes]]) -> dict[str, list[str]]:
    return {
        name: [value.decode("utf-8", "replace") for value in values]
        for name, values in arguments.items()
    }
