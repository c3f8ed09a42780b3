"""Whether the notebook server of a session answers."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from jupyterhub.objects import Server
from jupyterhub.utils import url_path_join, wait_for_http_server

from spawner.certificates import client_context


async def wait_for_answer(spawner: Any, url: str) -> None:
    """Return when the server has answered.

    Args:
        spawner: The spawner of the session, which knows its paths and certificates.
        url: Where the server is.

    Raises:
        TimeoutError: If it did not answer in the time that a start may take.
    """
    base_url = spawner.server.base_url if spawner.server is not None else "/"
    await wait_for_http_server(
        url_path_join(url, base_url, "api"),
        timeout=spawner.running_start_timeout_s,
        ssl_context=context_of(spawner),
    )


def context_of(spawner: Any) -> ssl.SSLContext | None:
    """Return how the hub connects to the session's server.

    Args:
        spawner: The spawner of the session.

    Returns:
        A context that trusts this server alone; None for plain HTTP.
    """
    if not spawner.certificate:
        return None
    return client_context(Path(spawner.certificates_dir), spawner.certificate)


def proven(server: Any, spawner: Any) -> Any:
    """Have JupyterHub's own look at a server accept the session's certificate and no other.

    Args:
        server: JupyterHub's row of the session's server.
        spawner: The spawner of the session.

    Returns:
        The same server.
    """

    def wait_up(**options: Any) -> Any:
        return Server.wait_up(server, **options | {"ssl_context": context_of(spawner)})

    server.wait_up = wait_up
    return server
