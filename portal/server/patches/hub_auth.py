"""HubAuth: a token in the address of a WebSocket counts for programs, as it does for browsers.

JupyterHub means to take it of every WebSocket, and knows one by a header that browsers alone send.
VS Code's Jupyter extension and other clients of `@jupyterlab/services` send the token only so. In
the address of a page it counts as little as before: nobody is logged in by following a link.

Source:
    JupyterHub 6.1.1, `HubAuth._get_token_url` and the help of `allow_token_in_url`.

Shown by:
    tests/sessions/test_editor_clients.py
"""

from collections.abc import Callable
from typing import Any

from jupyterhub.services.auth import HubAuth

from spawner.patch import wrap


def take_tokens_of_websockets() -> None:
    """Take the token of a WebSocket's address, unless a header has one."""

    def around(original: Callable[[Any, Any], str]) -> Callable[[Any, Any], str]:
        def token_of(self: Any, handler: Any) -> str:
            headers = handler.request.headers
            is_websocket = headers.get("Upgrade", "").lower() == "websocket"
            if is_websocket and self.auth_header_name not in headers:
                return str(handler.get_argument("token", ""))
            return original(self, handler)

        return token_of

    wrap(HubAuth, "_get_token_url", around)
