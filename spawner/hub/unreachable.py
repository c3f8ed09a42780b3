"""Requests to sessions that the proxy cannot reach."""

from typing import Any
from urllib.parse import urlsplit

from jupyterhub.handlers.pages import ProxyErrorHandler

from spawner.hub.patches.routes import add_page_routes

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


def register() -> None:
    """Replace JupyterHub's handler by this one."""
    add_page_routes([(ROUTE, UnreachableHandler)])
