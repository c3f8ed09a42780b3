"""Requests to sessions that the proxy cannot reach, or has lost the route to."""

from typing import Any
from urllib.parse import urlsplit

from jupyterhub.handlers.base import UserUrlHandler
from jupyterhub.handlers.pages import ProxyErrorHandler
from jupyterhub.user import User
from tornado.web import HTTPError

from spawner.hub.patches.routes import add_page_routes, replace_handlers

ROUTE = r"/error/(\d+)"
_NOT_ROUTED = (
    "The session runs, but the portal's proxy does not take its address from the hub, so it cannot"
    " be opened just now. Tell the administrators."
)


class UnreachableHandler(ProxyErrorHandler):
    """JupyterHub's page for an error of the proxy, which also has Slurm queried at once."""

    async def get(self, status_code_s: str) -> None:
        """Answer with the page; `status_code_s` is the status in digits."""
        path = urlsplit(self.get_query_argument("url", "")).path
        for spawner in find_spawners(path, self.users):
            spawner.poll_soon()
        await super().get(status_code_s)


def find_spawners(path: str, users: Any) -> list[Any]:
    """Return the spawners of the running sessions that a path leads to, mostly one or none.

    Args:
        users: The hub's users by name.

    Returns:
        `SlurmGPUSpawner`s; other kinds of spawners are left out.
    """
    return [
        spawner
        for user in users.values()
        # The URL ends with a slash, so ada's is not the beginning of adam's.
        if path.startswith(user.url)
        for spawner in user.spawners.values()
        if spawner.ready and hasattr(spawner, "poll_soon")
    ]


class RoutedHandler(UserUrlHandler):
    """Has a ready session's route added before its user is sent there.

    A request for it reaches the hub only if the proxy has no such route; JupyterHub itself looks
    every five minutes, and sends the browser to and fro until then.

    Source:
        JupyterHub 6.1.1, `UserUrlHandler._redirect_to_user_server`.
    """

    async def _redirect_to_user_server(self, user: User, spawner: Any) -> None:
        try:
            await self.proxy.add_user(user, spawner.name)
        # Each JupyterHub and each class of proxies has errors of its own.
        except Exception as error:
            self.log.error("No route to the session of %s: %s", user.name, error)
            failure: Any = HTTPError(503, "The proxy refuses a route")
            failure.jupyterhub_message = _NOT_ROUTED
            raise failure from error
        await super()._redirect_to_user_server(user, spawner)


def register() -> None:
    """Replace JupyterHub's handlers by these."""
    add_page_routes([(ROUTE, UnreachableHandler)])
    replace_handlers({UserUrlHandler: RoutedHandler})
