"""The site's web tools: each starts behind the login when its tab is opened."""

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from jupyter_server_proxy.config import ServerProcess, make_handlers
from jupyter_server_proxy.handlers import RewritableResponse
from tornado.httputil import HTTPHeaders, HTTPServerRequest

from portal.server.base.rest import Route, route
from portal.server.web_tools.tool import WebTool, tool_path
from portal.settings.session_tables import SessionTables

# Tells a tool the path of its pages, without a slash at the end.
PREFIX_VARIABLE = "PORTAL_TOOL_PREFIX"
_START_TIMEOUT_S = 60
# Those of JupyterHub and Jupyter Server. A tool may set others, such as RStudio, for its own path.
_COOKIES_OF_THE_PORTAL = re.compile(r"(__Host-)?(jupyterhub-|_xsrf|username-)")
_SECRET_HEADERS = {"authorization", "x-xsrftoken"}
# Beside connect-src, how a page can change something, or run a page of the portal. What it loads
# otherwise, such as a script, it cannot read.
_ASKING = ("form-action", "frame-src", "object-src", "worker-src")


def offered_tools(settings: SessionTables, base_url: str = "/") -> tuple[WebTool, ...]:
    """Return the site's tools, as far as their programs are on this node.

    The `base_url` is the path of the notebook server, with a slash at both ends.
    """
    return tuple(
        WebTool(
            title=tool.title or name,
            command=tool.command,
            path=path,
            environment={PREFIX_VARIABLE: f"{base_url}{path}"},
        )
        for name, tool in settings.tools.items()
        if os.access(tool.command[0], os.X_OK)
        for path in [tool_path(name)]
    )


def tool_handlers(tools: tuple[WebTool, ...], base_url: str) -> list[Any]:
    """Return routes of jupyter-server-proxy, which start a tool with its first request.

    The `base_url` is the path of the notebook server, with a slash at both ends.
    """
    routes = []
    for tool in tools:
        process = ServerProcess(
            name=tool.path,
            command=tool.argv(),
            environment=tool.variables(),
            unix_socket=True,
            timeout=_START_TIMEOUT_S,
            update_last_activity=tool.requests_are_use,
            rewrite_response=_kept_apart(tool),
        )
        routes += [_without_secrets(*route) for route in make_handlers(base_url, [process])]
    return routes


def _without_secrets(path: str, handler: Any, *arguments: Any) -> tuple[Any, ...]:
    if not hasattr(handler, "proxy_request_headers"):
        return path, handler, *arguments

    class ToolProxy(handler):
        """Forwards without the cookies and tokens of the portal."""

        def proxy_request_headers(self) -> HTTPHeaders:
            return harmless_headers(super().proxy_request_headers())

    return path, ToolProxy, *arguments


def _kept_apart(tool: WebTool) -> Callable[[RewritableResponse, HTTPServerRequest], None]:
    """Return what keeps the portal from the pages of a tool."""

    def keep_apart(response: RewritableResponse, request: HTTPServerRequest) -> None:
        own = f"{request.path.partition(tool.path)[0]}{tool.path}/"
        # Beside the tool's own, which may forbid more.
        response.headers.add(
            "Content-Security-Policy", page_policy(request.host, (own, *tool.asks))
        )
        # Neither the window that opened it nor one that it opens is at its hand.
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"

    return keep_apart


def page_policy(host: str, asked: Sequence[str]) -> str:
    """Return what lets pages of a tool ask nothing of the portal but what is `asked`.

    A page may show what others have written, and has the portal's origin.

    Args:
        host: As the browser names the portal.
        asked: Paths of the portal, all that is below them included, and addresses of other sites.
    """
    own = [f"{host}{path}" for path in asked if path.startswith("/")]
    sources = ["blob:", "data:", *own, *(site for site in asked if not site.startswith("/"))]
    # Not every browser counts a websocket as of the page's own scheme.
    sockets = [f"{scheme}{address}" for scheme in ("ws://", "wss://") for address in own]
    policies = [f"{name} {' '.join(sources)}" for name in _ASKING]
    return "; ".join([f"connect-src {' '.join([*sources, *sockets])}", *policies])


def harmless_headers(headers: HTTPHeaders) -> HTTPHeaders:
    """Return the headers of a request without those that are for the portal alone."""
    kept = HTTPHeaders()
    for name, value in headers.get_all():
        if name == "Cookie":
            cookies = [cookie.strip() for cookie in value.split(";")]
            value = "; ".join(one for one in cookies if not _COOKIES_OF_THE_PORTAL.match(one))
        if value and name.lower() not in _SECRET_HEADERS:
            kept.add(name, value)
    return kept


def list_route(tools: Sequence[WebTool]) -> Route:
    """Return REST API `portal/api/tools`: the tools in the launcher."""
    return route(
        r"/portal/api/tools",
        "tools",
        get=lambda request: [
            {"title": tool.title, "url": f"{request.base_url}{tool.path}/"} for tool in tools
        ],
    )
