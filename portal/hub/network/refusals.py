"""Requests that JupyterHub takes and the portal refuses, each in a sentence."""

from __future__ import annotations

from typing import Any

from jupyterhub import apihandlers
from jupyterhub.apihandlers import APIHandler
from jupyterhub.apihandlers.auth import TokenAPIHandler
from jupyterhub.apihandlers.hub import RootAPIHandler
from jupyterhub.apihandlers.users import UserServerAPIHandler
from jupyterhub.handlers.static import CacheControlStaticFilesHandler
from tornado.web import HTTPError


class HubStaticHandler(CacheControlStaticFilesHandler):
    """Serves JupyterHub's files; a name that no file can have is not found."""

    def parse_url_path(self, url_path: str) -> str:
        """Return the path of a file below the folder.

        Args:
            url_path: The rest of the address.

        Returns:
            The path.

        Raises:
            HTTPError: 404 where no file can have that name.
        """
        return refuse_nul(super().parse_url_path(url_path))


class RootHandler(RootAPIHandler):
    """Tells JupyterHub's version to who is logged in or has a token only."""

    def get(self) -> None:
        """Answer with the version, or with nothing in particular."""
        if self.current_user is None:
            self.finish({"message": "The REST interface of the portal. Send a token."})
        else:
            super().get()


class StartHandler(UserServerAPIHandler):
    """Starts a session. JupyterHub's own takes an empty list for no options."""

    def get_server_json_body(self) -> dict[str, Any]:
        """Return what the body says.

        Returns:
            JupyterHub's form of it.

        Raises:
            HTTPError: 400 where it is neither an object nor nothing.
        """
        body = self.get_json_body()
        if body is not None and not isinstance(body, dict):
            raise HTTPError(
                400, 'The body must be a JSON object of options, such as {"gpus": 1}, or empty.'
            )
        model: dict[str, Any] = super().get_server_json_body()
        return model


class GoneHandler(APIHandler):
    """Stands where JupyterHub 1 told whose a token is."""

    def check_xsrf_cookie(self) -> None:
        """Ask for nothing: nothing is done here."""

    def prepare(self) -> None:
        """Refuse every method.

        Raises:
            HTTPError: 404.
        """
        raise HTTPError(404, f"This route is gone. Send the token to {self.hub.base_url}api/user.")


_REPLACED = {
    RootAPIHandler: RootHandler,
    TokenAPIHandler: GoneHandler,
    UserServerAPIHandler: StartHandler,
}


def register() -> None:
    """Put these handlers in the place of JupyterHub's."""
    routes = apihandlers.default_handlers
    routes[:] = [(route[0], _REPLACED.get(route[1], route[1]), *route[2:]) for route in routes]


def refuse_nul(path: str) -> str:
    """Return the path of a file.

    Args:
        path: As the address has it.

    Returns:
        The same path.

    Raises:
        HTTPError: 404 where it holds what no file system takes.
    """
    if "\0" in path:
        raise HTTPError(404)
    return path
