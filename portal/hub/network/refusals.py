"""Replaces JupyterHub handlers that accept or reveal what the portal refuses."""

from typing import Any

from jupyterhub.apihandlers import APIHandler
from jupyterhub.apihandlers.auth import TokenAPIHandler
from jupyterhub.apihandlers.hub import RootAPIHandler
from jupyterhub.apihandlers.users import UserServerAPIHandler
from jupyterhub.handlers.static import CacheControlStaticFilesHandler
from jupyterhub.user import User
from tornado.web import HTTPError, StaticFileHandler

from spawner.hub.patches.routes import replace_handlers


class PlainNames(StaticFileHandler):
    """Serves files; 404 for a name with a NUL byte, which no file system takes."""

    def parse_url_path(self, url_path: str) -> str:
        """Return the path of a file below the folder."""
        path = super().parse_url_path(url_path)
        if "\0" in path:
            raise HTTPError(404)
        return path


class HubStaticHandler(PlainNames, CacheControlStaticFilesHandler):
    """Serves JupyterHub's static files."""


class RootHandler(RootAPIHandler):
    """Tells JupyterHub's version only to logged-in users and holders of a token."""

    def get(self) -> None:
        """Answer with the version, or with a hint to send a token."""
        if self.current_user is None:
            self.finish({"message": "The REST interface of the portal. Send a token."})
        else:
            super().get()


class StartHandler(UserServerAPIHandler):
    """Starts a session.

    JupyterHub's own handler takes an empty list for no options, and fails if another request is
    faster by a moment.
    """

    def get_server_json_body(self) -> dict[str, Any]:
        """Return JupyterHub's form of the body."""
        body = self.get_json_body()
        if body is not None and not isinstance(body, dict):
            raise HTTPError(
                400, 'The body must be a JSON object of options, such as {"gpus": 1}, or empty.'
            )
        model: dict[str, Any] = super().get_server_json_body()
        return model

    async def spawn_single_user(
        self, user: User, server_name: str = "", *arguments: Any, **options: Any
    ) -> None:
        """Start the session."""
        try:
            await super().spawn_single_user(user, server_name, *arguments, **options)
        except RuntimeError as error:
            if not user.spawners[server_name].pending:
                raise
            raise HTTPError(
                409,
                "Another request has just begun to start or stop this session. Ask how far it is at"
                f" {self.request.path.removesuffix('/')}/progress, or send this again later.",
            ) from error


class GoneHandler(APIHandler):
    """Replaces the route of JupyterHub 1 that told whose a token is."""

    def check_xsrf_cookie(self) -> None:
        """Require nothing: nothing is done here."""

    def prepare(self) -> None:
        """Refuse every method."""
        raise HTTPError(404, f"This route is gone. Send the token to {self.hub.base_url}api/user.")


def register() -> None:
    """Replace JupyterHub's handlers by these."""
    replace_handlers(
        {
            RootAPIHandler: RootHandler,
            TokenAPIHandler: GoneHandler,
            UserServerAPIHandler: StartHandler,
        }
    )
