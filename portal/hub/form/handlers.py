"""Handlers of the form: the page, which a link may fill in, and the choices for its script."""

import asyncio
from collections.abc import Awaitable
from typing import Any
from urllib.parse import urlencode

from jupyterhub.handlers import BaseHandler
from jupyterhub.handlers.pages import SpawnHandler
from jupyterhub.scopes import needs_scope
from jupyterhub.user import User
from markupsafe import Markup
from tornado.web import HTTPError, authenticated

from dsportal.slurm.errors import PortalError
from portal.hub.form.defaults import options_of_link
from portal.hub.form.fixed import FIXED
from portal.hub.form.form import IS_FIXED, SENT_OPTIONS, local_clock
from portal.hub.form.view import describe_form
from portal.hub.pages.failure_view import describe_failure
from spawner.hub.patches.routes import replace_handlers
from spawner.hub.session_mixin import SessionMixin

CHOICES_ROUTE = r"/portal/choices/([^/]+)"
# The page can already be used while its script waits.
_FORECAST_WAIT_S = 8.0
# Arguments that JupyterHub's handler reads itself; all others would become options.
_OF_JUPYTERHUB = frozenset({"next", "display_name"})


class FormHandler(SpawnHandler):
    """Shows the form. JupyterHub's own handler would start a session for whoever opens a link."""

    _failed_start: tuple[str, asyncio.Future[Any]] | None = None

    def get(self, user_name: str | None = None, server_name: str = "") -> Awaitable[None]:
        """Show the form with the options of the address marked."""
        SENT_OPTIONS.set(options_of_link(_texts(self.request.query_arguments)))
        IS_FIXED.set(self.get_query_argument(FIXED, "") == "1")
        self._forget_link()
        # The browser's back button asks again, and finds the page of a start that is on its way. A
        # hub of the site's own, which has this form, lacks the portal's headers.
        self.set_header("Cache-Control", "no-store")
        # JupyterHub replaces a spawner that has failed, and forgets why.
        self._failed_start = self._find_failed_start(user_name, server_name)
        shown: Awaitable[None] = super().get(user_name, server_name)
        return shown

    def post(
        self, user_name: str | None = None, server_name: str = "", *display_name: str
    ) -> Awaitable[None]:
        """Start a session; if it is refused, show the form again as it was sent.

        JupyterHub 5 knows no display names.
        """
        SENT_OPTIONS.set(options_of_link(_texts(self.request.body_arguments)))
        self._forget_link()
        started: Awaitable[None] = super().post(user_name, server_name, *display_name)
        return started

    async def _wrap_spawn_single_user(
        self, user: User, server_name: str, *arguments: Any, **options: Any
    ) -> Awaitable[None] | None:
        # JupyterHub waits 1 s for the first error of a start, then sends the browser to its page,
        # where it is unknown until the account is rechecked. So this comes first; JupyterHub
        # rechecks a user once in a request.
        if self.authenticator.refresh_pre_spawn and not await self.refresh_auth(user, force=True):
            raise HTTPError(403, f"auth has expired for {user.name}, login again")
        try:
            answer: Awaitable[None] | None = await super()._wrap_spawn_single_user(
                user, server_name, *arguments, **options
            )
        except HTTPError as error:
            # Another tab was faster by a moment, which JupyterHub takes for a fault of its own.
            if self._is_starting(user, server_name):
                error.status_code = 400
                self._tell_other_start(error, user, server_name)
            raise
        return answer

    async def _post(self, user_name: str, server_name: str, **display_name: str) -> None:
        try:
            await super()._post(user_name=user_name, server_name=server_name, **display_name)
        except HTTPError as error:
            user = self.find_user(user_name)
            if user is not None and self._is_starting(user, server_name):
                self._tell_other_start(error, user, server_name)
            raise

    @staticmethod
    def _is_starting(user: User, server_name: str) -> bool:
        return server_name in user.spawners and user.spawners[server_name].pending == "spawn"

    def _tell_other_start(self, error: HTTPError, user: User, server_name: str) -> None:
        # Not without a word to its page: it is not the start that was asked for now.
        error.jupyterhub_html_message = Markup(  # type: ignore[attr-defined]
            '<p class="portal-text">The session is already starting, with what you chose before.'
            '</p><p><a href="{}">See how far it is, or cancel it there to start one with other'
            " options</a></p>"
        ).format(self._get_pending_url(user, server_name))

    def _find_failed_start(
        self, user_name: str | None, server_name: str
    ) -> tuple[str, asyncio.Future[Any]] | None:
        user = self.find_user(user_name) if user_name else self.current_user
        if user is None or server_name not in user.spawners:
            return None
        spawner = user.spawners[server_name]
        return (server_name, spawner._spawn_future) if spawner._failed else None

    async def _render_form(self, for_user: User, *arguments: Any, **options: Any) -> Any:
        if self._failed_start is not None:
            server_name, start = self._failed_start
            spawner = for_user.spawners[server_name]
            # Until the next start, this page, the home page and that of the start say why.
            spawner._spawn_future = spawner._spawn_future or start
            if not options.get("message"):
                page_url = self._get_pending_url(for_user, server_name)
                options["html_message"] = _tell_failure(start, spawner, page_url)
        return await super()._render_form(for_user, *arguments, **options)

    def _forget_link(self) -> None:
        # JupyterHub would start what the address says, and pass it on to the notebook server.
        arguments = self.request.query_arguments
        kept = {name: values for name, values in arguments.items() if name in _OF_JUPYTERHUB}
        self.request.query_arguments = kept
        self.request.query = urlencode(kept, doseq=True)


class ChoicesHandler(BaseHandler):
    """Answers with the choices of a form and their expected starts, as JSON."""

    @authenticated
    @needs_scope("servers")  # type: ignore[untyped-decorator]
    async def get(self, user_name: str) -> None:
        """Answer for the options in the address."""
        user = self.find_user(user_name)
        if user is None:
            raise HTTPError(404)
        spawner = user.spawner
        wanted = options_of_link(_texts(self.request.query_arguments))
        # Free GPUs and forecasts change within seconds; as above, in any hub.
        self.set_header("Cache-Control", "no-store")
        try:
            here = spawner.on(spawner.offered_cluster(wanted.get("cluster")))
            catalog = await here.read_catalog()
            view = await describe_form(
                spawner, here, catalog, wanted, now=local_clock(), wait_s=_FORECAST_WAIT_S
            )
        except PortalError as error:
            self.set_status(error.http_status)
            self.finish({"message": error.message})
            return
        self.finish(view.to_json())


def register() -> None:
    """Replace JupyterHub's page that starts sessions from links by the form."""
    replace_handlers({SpawnHandler: FormHandler})


def choices_route() -> tuple[str, type[ChoicesHandler]]:
    """Return the route from which the form's script reads the choices."""
    return (CHOICES_ROUTE, ChoicesHandler)


def _tell_failure(start: asyncio.Future[Any], spawner: SessionMixin, page_url: str) -> Markup:
    failure = describe_failure(start.exception(), spawner)
    words = f"{failure.sentence} {failure.next_step}".strip() if failure else ""
    return Markup(
        '<p class="portal-text"><strong>Your last start failed.</strong> {}</p>'
        '<p><a href="{}">What Slurm and the log say</a></p>'
    ).format(words, page_url)


def _texts(arguments: dict[str, list[bytes]]) -> dict[str, list[str]]:
    return {
        name: [value.decode("utf-8", "replace") for value in values]
        for name, values in arguments.items()
    }
