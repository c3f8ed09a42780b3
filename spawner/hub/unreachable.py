"""The hub's error page for sessions that the proxy cannot reach."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from jupyterhub import handlers
from jupyterhub.handlers.pages import ProxyErrorHandler

ROUTE = r"/error/(\d+)"


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
        path: Path of a request that the proxy could not serve.
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


def register(routes: list[Any] | None = None) -> None:
    """Replace JupyterHub's handler with this one.

    Args:
        routes: The hub's list of handlers, changed in place; None for the real one.
    """
    routes = handlers.default_handlers if routes is None else routes
    routes[:] = [route for route in routes if route[0] != ROUTE]
    routes.append((ROUTE, UnreachableHandler))
