"""What the hub does when the proxy does not reach a session."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from jupyterhub import handlers
from jupyterhub.handlers.pages import ProxyErrorHandler

ROUTE = r"/error/(\d+)"


class UnreachableHandler(ProxyErrorHandler):
    """JupyterHub's page for an error of the proxy; Slurm is asked about the session at once."""

    async def get(self, status_code_s: str) -> None:
        """Answer with the page.

        Args:
            status_code_s: Status that the user is shown, in digits.
        """
        path = urlsplit(self.get_query_argument("url", "")).path
        for spawner in spawners_of(path, self.users):
            spawner.look_soon()
        await super().get(status_code_s)


def spawners_of(path: str, users: Any) -> list[Any]:
    """Return the running sessions that a path leads to.

    Args:
        path: Path of a request that the proxy could not serve.
        users: The hub's users by name.

    Returns:
        Spawners, mostly one or none.
    """
    return [
        spawner
        for user in users.values()
        if path.startswith(user.url)
        for spawner in user.spawners.values()
        if spawner.ready and hasattr(spawner, "look_soon")
    ]


def register(routes: list[Any] | None = None) -> None:
    """Put this handler in the place of JupyterHub's.

    Args:
        routes: The hub's list of handlers, changed in place; by default the real one.
    """
    routes = handlers.default_handlers if routes is None else routes
    routes[:] = [route for route in routes if route[0] != ROUTE]
    routes.append((ROUTE, UnreachableHandler))
