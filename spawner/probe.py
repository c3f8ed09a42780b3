"""Whether the notebook server of a session answers."""

from __future__ import annotations

from typing import Any

from jupyterhub.utils import make_ssl_context, url_path_join, wait_for_http_server


async def wait_for_answer(spawner: Any, address: str, port: int) -> None:
    """Return when the server has answered.

    Args:
        spawner: The spawner of the session, which knows its paths and certificates.
        address: Address of the node.
        port: Port of the server there.

    Raises:
        TimeoutError: If it did not answer in the time that a start may take.
    """
    host = f"[{address}]" if ":" in address else address
    settings = spawner.user.settings
    key, cert, ca = (settings.get(f"internal_ssl_{part}") for part in ("key", "cert", "ca"))
    base_url = spawner.server.base_url if spawner.server is not None else "/"
    proto = "https" if spawner.internal_ssl else "http"
    await wait_for_http_server(
        url_path_join(f"{proto}://{host}:{port}", base_url, "api"),
        timeout=spawner.running_start_timeout_s,
        ssl_context=make_ssl_context(key, cert, cafile=ca),
    )
