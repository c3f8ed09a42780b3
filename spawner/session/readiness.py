"""Checks whether a session's notebook server answers."""

import asyncio
import contextlib
import ssl
from pathlib import Path
from typing import Any

from jupyterhub.objects import Server
from jupyterhub.utils import url_path_join, wait_for_http_server

from spawner.certificates import client_context

# Many times what a server needs for its first answer, on a busy node, too.
MOST_WAIT_S = 30.0


async def wait_for_answer(spawner: Any, url: str) -> None:
    """Wait until the session's server at this URL, without a path, answers.

    `spawner` is the session's `SlurmGPUSpawner`.

    Raises:
        TimeoutError: If it did not answer in the time that a start may take.
    """
    base_url = spawner.server.base_url if spawner.server is not None else "/"
    timeout_s = spawner.running_start_timeout_s
    async with asyncio.timeout(timeout_s):
        while True:
            # One request of JupyterHub's waits 5 minutes for an answer, and one connection that
            # got lost while the server began to listen would be the end of the start.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(MOST_WAIT_S):
                    await wait_for_http_server(
                        # A notebook server answers this without a login.
                        url_path_join(url, base_url, "api"),
                        timeout=timeout_s,
                        ssl_context=tls_context(spawner),
                    )
                    return


def tls_context(spawner: Any) -> ssl.SSLContext | None:
    """Return a TLS context that trusts only the server of `spawner`; None for plain HTTP."""
    if not spawner.certificate:
        return None
    return client_context(Path(spawner.certificates_dir), spawner.certificate)


def proven(server: Any, spawner: Any) -> Any:
    """Make JupyterHub's own check of a server accept only the session's certificate.

    Args:
        server: JupyterHub's row of the session's server, changed in place.
        spawner: The session's, a `SlurmGPUSpawner`.

    Returns:
        The same `server`.
    """

    def wait_up(**options: Any) -> Any:
        return Server.wait_up(server, **options | {"ssl_context": tls_context(spawner)})

    server.wait_up = wait_up
    return server
