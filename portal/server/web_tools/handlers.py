"""The site's web tools: each starts behind the login when its tab is opened."""

from __future__ import annotations

import json
import os
import secrets
import sys
from dataclasses import dataclass
from typing import Any

from jupyter_server.base.handlers import APIHandler
from jupyter_server_proxy.config import ServerProcess, make_handlers

from portal.server.authorization import for_the_user
from spawner.session_settings import SessionSettings

_START_TIMEOUT_S = 60
# The tool does not get the session's tokens.
_WITHOUT_TOKENS = (
    "/usr/bin/env",
    *("-u", "JUPYTERHUB_API_TOKEN"),
    *("-u", "JPY_API_TOKEN"),
    *("-u", "JUPYTER_TOKEN"),
)
# "-c" instead of "-m", and without the empty entry of sys.path: nothing is imported from the
# current folder, which may be in the user's home.
_BEHIND_SOCKET = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from portal.server.web_tools.process import main; sys.exit(main())"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebTool:
    """A web tool of the site.

    Attributes:
        title: Shown in the launcher.
        command: Program and arguments, with {unix_socket} or {port}.
        path: URL path below the notebook server. It cannot be guessed, so a page of another user on
            the same host cannot request what the tool shows.
    """

    title: str
    command: tuple[str, ...]
    path: str

    def argv(self) -> list[str]:
        """Return the command that listens on a unix socket, as a template of jupyter-server-proxy.

        It holds {unix_socket}; other braces are doubled.
        """
        if any("{unix_socket}" in word for word in self.command):
            return [*_WITHOUT_TOKENS, *(_escaped(word) for word in self.command)]
        # Hidden from jupyter-server-proxy, which would fill in a port of its own.
        words = [_escaped(word.replace("{port}", "@PORT@")) for word in self.command]
        bridge = [sys.executable, "-c", _BEHIND_SOCKET, str(os.getpid()), "{unix_socket}"]
        return [*_WITHOUT_TOKENS, *bridge, *words]


def offered_tools(settings: SessionSettings) -> tuple[WebTool, ...]:
    """Return the site's tools whose program is on this node."""
    return tuple(
        WebTool(
            title=tool.title or tool.name,
            command=tool.command,
            path=f"portal/tools/{secrets.token_hex(12)}/{tool.name}",
        )
        for tool in settings.tools
        if os.access(tool.command[0], os.X_OK)
    )


def tool_handlers(tools: tuple[WebTool, ...], base_url: str) -> list[Any]:
    """Return routes of jupyter-server-proxy, which start a tool with its first request.

    The `base_url` is the path of the notebook server, with a slash at both ends.
    """
    processes = [
        ServerProcess(
            name=tool.path, command=tool.argv(), unix_socket=True, timeout=_START_TIMEOUT_S
        )
        for tool in tools
    ]
    handlers: list[Any] = make_handlers(base_url, processes)
    return handlers


def _escaped(word: str) -> str:
    doubled = word.replace("{", "{{").replace("}", "}}")
    return doubled.replace("{{unix_socket}}", "{unix_socket}")


class ToolsHandler(APIHandler):
    """REST API `portal/api/tools`: the tools in the launcher."""

    auth_resource = "tools"

    def initialize(self, tools: tuple[WebTool, ...]) -> None:
        """Store the arguments of the route."""
        self.tools = tools

    @for_the_user
    async def get(self) -> None:
        """List them."""
        tools = [
            {"title": tool.title, "url": f"{self.base_url}{tool.path}/"} for tool in self.tools
        ]
        self.finish(json.dumps(tools))
