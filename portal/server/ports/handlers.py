"""Forwards the browser to ports of the user's own programs, such as Dash, Streamlit, Gradio.

A program's pages are sandboxed: the browser gives them neither the user's cookies nor the portal's
origin. Their own requests are therefore recognised by a key in the path.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpcore
from jupyter_server.auth.decorator import allow_unauthenticated

from dsportal.slurm.errors import PortalError
from portal.server.base.authorization import RouteArguments, for_the_user
from portal.server.base.cgroup import find_source
from portal.server.base.forwarding import ForwardingHandler
from portal.server.ports.key import VARIABLE, PortKey
from portal.server.ports.listeners import LOOPBACK, SessionPorts, SilentPortError
from portal.server.ports.sandboxed_page import with_storage
from portal.server.ports.tunnel import tunnel

ROUTE = r"/port/([0-9]{1,5})(?:/.*)?"
KEYED_ROUTE = r"/port/([0-9a-f]{32})/([0-9]{1,5})(?:/.*)?"
# The addresses of jupyter-server-proxy, which notebooks, Dask and others print.
PROXY_ROUTE = r"/proxy/(?:absolute/)?([0-9]{1,5})(?:/.*)?"
_SANDBOX = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"
_MAX_PORT = 65535
_CONNECT_TIMEOUT_S = 5
# Programs may compute for minutes before they answer.
_ANSWER_TIMEOUT_S = 300
# Whole pages, which are redirected to the URL with the key.
_PAGES = {"document", "frame", "iframe"}
# Headers that concern the whole host, which is the portal's.
_OF_THE_HOST = {
    "alt-svc",
    "clear-site-data",
    "nel",
    "origin-agent-cluster",
    "report-to",
    "reporting-endpoints",
    "service-worker-allowed",
    "strict-transport-security",
    "www-authenticate",
}


class _CheckedBackend(httpcore.AnyIOBackend):
    """Connects only to programs of this session, checked before anything is sent."""

    def __init__(self, ports: SessionPorts) -> None:
        super().__init__()
        self._ports = ports

    async def connect_tcp(
        self, host: str, port: int, *args: Any, **kwargs: Any
    ) -> httpcore.AsyncNetworkStream:
        # Looked up before and after: another program may take the port in between.
        listeners = await asyncio.to_thread(self._ports.listeners, port)
        stream = await super().connect_tcp(LOOPBACK, port, *args, **kwargs)
        try:
            _, own_port = stream.get_extra_info("client_addr")
            await asyncio.to_thread(self._ports.check_connection, port, own_port, listeners)
        # Also if the request was cancelled.
        except BaseException:
            await stream.aclose()
            raise
        return stream


class PortHandler(RouteArguments, ForwardingHandler):
    """Forwards requests of a logged-in user to a port."""

    page_title = "Port"
    auth_resource = "ports"
    not_passed_back = frozenset(ForwardingHandler.not_passed_back | _OF_THE_HOST)

    ports: SessionPorts
    key: PortKey

    @property
    def content_security_policy(self) -> str:
        """Sandboxed: a program's page acts neither as the user nor as a page of the portal."""
        return f"{super().content_security_policy}; {_SANDBOX}"

    @for_the_user
    async def forward(self, port: str) -> None:
        """Forward the request, or redirect a page to the URL with the key."""
        path, rest = self._split(n_parts=2)
        is_page = self._is_page()
        # Without the slash, the relative links of a page would leave the program's path.
        if self.request.method in {"GET", "HEAD"} and (is_page or not rest.startswith("/")):
            place = f"{self.base_url}port/{self.key.text}/{port}" if is_page else path
            self.redirect(place + (rest if rest.startswith("/") else f"/{rest}"))
        # Browsers do not apply the same-origin policy to websockets.
        elif self._is_websocket() and not self.check_origin():
            self.say(403, "Not from here", "This address is not for pages of another site.")
        else:
            await self._forward_to(int(port), path, rest)

    get = head = post = put = delete = patch = options = forward

    def _is_page(self) -> bool:
        return self.request.headers.get("Sec-Fetch-Dest") in _PAGES

    def _is_websocket(self) -> bool:
        return str(self.request.headers.get("Upgrade", "")).lower() == "websocket"

    def _split(self, n_parts: int) -> tuple[str, str]:
        """Split the request's URI after the program's path prefix, which ends without a slash."""
        uri = self.harmless_uri()
        n_before = self.base_url.count("/") + n_parts - 1
        parts = uri.partition("?")[0].split("/")
        path = "/".join(parts[: n_before + 1])
        return path, uri[len(path) :]

    async def _forward_to(self, port: int, path: str, rest: str) -> None:
        try:
            if not 0 < port <= _MAX_PORT:
                raise SilentPortError(f"There is no port {port}. The highest is {_MAX_PORT}.")
            await self._exchange(port, path, rest)
        except PortalError as error:
            self.say(error.http_status, f"Port {port} is not shown", error.message)

    async def _exchange(self, port: int, path: str, rest: str) -> None:
        request = httpcore.Request(
            method=str(self.request.method),
            url=httpcore.URL(
                scheme=b"http", host=LOOPBACK.encode(), port=port, target=rest.encode("latin-1")
            ),
            headers=self._program_headers(port, path),
            content=self.request.body or None,
            extensions={"timeout": {"connect": _CONNECT_TIMEOUT_S, "read": _ANSWER_TIMEOUT_S}},
        )
        backend = _CheckedBackend(self.ports)
        # A pool for one request: the next one on a kept connection would not be checked.
        async with httpcore.AsyncConnectionPool(network_backend=backend) as pool:
            try:
                response = await pool.handle_async_request(request)
            except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
                raise SilentPortError(
                    f"What listens on port {port} does not answer. Look at what your program says, "
                    "then reload the page."
                ) from None
            response.headers = list(_located(response.headers, port, path))
            if response.status == 101:
                await tunnel(self, response)
            else:
                await self.pass_back(response)

    def _program_headers(self, port: int, path: str) -> list[tuple[bytes, bytes]]:
        # The program sees requests as if they came from a browser on the node itself.
        host = f"localhost:{port}"
        # Uncompressed, so that the script can be inserted into a page.
        dropped = {b"origin"} | ({b"accept-encoding"} if self._is_page() else set())
        headers = [
            (name, value)
            for name, value in self.harmless_headers(host)
            if name.lower() not in dropped and not name.lower().startswith(b"sec-fetch-")
        ]
        if "Origin" in self.request.headers:
            headers.append((b"Origin", f"http://{host}".encode()))
        if self._is_websocket():
            headers += [(b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]
        return [*headers, (b"X-Forwarded-Prefix", path.encode("latin-1"))]


class ProxyPathHandler(PortHandler):
    """Leads from an address of jupyter-server-proxy to the checked one."""

    @for_the_user
    async def forward(self, port: str) -> None:
        """Redirect, with the method and the body."""
        path, _ = self._split(n_parts=2)
        _, rest = self._split(n_parts=3 if path.endswith("/absolute") else 2)
        slash = "" if rest.startswith("/") else "/"
        self.redirect(f"{self.base_url}port/{port}{slash}{rest}", status=307)

    get = head = post = put = delete = patch = options = forward


def _is_plain_html(response: httpcore.Response) -> bool:
    headers = {name.lower(): value.lower() for name, value in response.headers}
    is_html = headers.get(b"content-type", b"").startswith(b"text/html")
    return is_html and b"content-encoding" not in headers


def _located(
    headers: Iterable[tuple[bytes, bytes]], port: int, path: str
) -> Iterable[tuple[bytes, bytes]]:
    """Yield a program's headers; redirects to itself get the path prefix that it has here."""
    prefix = path.encode("latin-1")
    # The program knows itself by the host that it was sent, which the browser cannot reach.
    own = [f"http://{name}:{port}/".encode() for name in ("localhost", LOOPBACK)]
    for name, value in headers:
        if name.lower() == b"location":
            for start in own:
                value = b"/" + value[len(start) :] if value.startswith(start) else value
            # "//host" is another host; a program that knows its prefix has used it already.
            if value.startswith(b"/") and not value.startswith((b"//", prefix + b"/")):
                value = prefix + value
        yield name, value


class KeyedPortHandler(PortHandler):
    """Forwards requests of a program's own page, which has no cookie but knows the key."""

    # This handler answers for CORS; browsers refuse a second Access-Control-Allow-Origin.
    not_passed_back = PortHandler.not_passed_back | {
        "access-control-allow-credentials",
        "access-control-allow-headers",
        "access-control-allow-methods",
        "access-control-allow-origin",
    }

    def response_chunks(self, response: httpcore.Response) -> AsyncIterator[bytes]:
        """Return a page with storage for the sandbox added, and anything else unchanged."""
        if not self._is_page() or not _is_plain_html(response):
            return super().response_chunks(response)
        # The page grows by the script.
        self.clear_header("Content-Length")
        return with_storage(super().response_chunks(response))

    def set_default_headers(self) -> None:
        """Let the sandboxed page read its own responses, and never send its URL as a referrer."""
        super().set_default_headers()
        # A sandboxed page has no origin, so its own requests count as cross-origin.
        self.set_header("Access-Control-Allow-Origin", "*")
        self.set_header("Referrer-Policy", "no-referrer")

    def check_xsrf_cookie(self) -> None:
        """Accept requests without the XSRF token: the key is in the path."""

    @allow_unauthenticated  # type: ignore[untyped-decorator]
    async def forward(self, key: str, port: str) -> None:
        """Forward the request if it has the key."""
        path, rest = self._split(n_parts=3)
        if not self.key.fits(key):
            self._lead_to_the_login(port, rest)
            return
        self.key.users.add(self)
        # A CORS preflight, which the program need not know about.
        if "Access-Control-Request-Method" in self.request.headers:
            self._allow_method()
        elif not rest.startswith("/"):
            self.redirect(f"{path}/{rest}")
        else:
            await self._forward_to(int(port), path, rest)

    get = head = post = put = delete = patch = options = forward

    def _lead_to_the_login(self, port: str, rest: str) -> None:
        place = f"{self.base_url}port/{port}"
        # The browser sends its cookies with a page, and with nothing else of a sandbox.
        if self.request.method == "GET" and self._is_page():
            self.redirect(f"{place}{rest}" if rest.startswith("/") else f"{place}/{rest}")
            return
        text = (
            "The key in this address was one of an earlier session, or changed when a colleague's"
            f" right to work in this one ended. Open {place}/ and load the page again. A program"
            f" that knows its own address from {VARIABLE} has to be started again in a new kernel"
            " or terminal."
        )
        self.say(404, "This address has ended", text)

    def _allow_method(self) -> None:
        asked = self.request.headers
        self.set_header("Access-Control-Allow-Methods", asked["Access-Control-Request-Method"])
        names = asked.get("Access-Control-Request-Headers", "")
        self.set_header("Access-Control-Allow-Headers", names)
        self.set_status(204)
        self.finish()


def port_routes(key: PortKey) -> list[Any]:
    """Return the routes to web apps on ports of the session."""
    ports = {"ports": SessionPorts(find_source(os.environ).pids), "key": key}
    return [
        (ROUTE, PortHandler, ports),
        (KEYED_ROUTE, KeyedPortHandler, ports),
        (PROXY_ROUTE, ProxyPathHandler, ports),
    ]
