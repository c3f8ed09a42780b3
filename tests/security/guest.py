"""A portal whose users share sessions, and what owner and guest do there without a browser."""

from __future__ import annotations

import asyncio
import html
import json
import re
import socket
from typing import Any
from urllib.parse import urlsplit

import requests
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from tests.security.conftest import WEBSOCKET
from tests.support.portal_below import BASE_URL, PortalBelow
from tests.support.portal_client import PortalClient
from tests.support.websockets import close_websocket

OWNER, GUEST = "ada", "grace"
SESSION = f"{BASE_URL}user/{OWNER}/"
TIMEOUT_S = 60
_HIDDEN = re.compile(r'<input[^>]*type="hidden"[^>]*>')
_FIELD = re.compile(r'(name|value)="([^"]*)"')
_HEAD_BYTES = 65_536


class Person:
    """Somebody who is logged in.

    Attributes:
        token: Of the hub, with all that this user may do.
    """

    def __init__(self, portal: PortalBelow, name: str) -> None:
        self.name = name
        self.portal = portal
        self.client = PortalClient(name, address=portal.url)
        self.log_in()
        self.token = self.client.token()

    def log_in(self) -> None:
        """Log in, again if need be."""
        self.client.http.cookies.clear()
        self.client.login().raise_for_status()

    def enter(self, path: str) -> requests.Response:
        """Open a page of the session; allow JupyterHub to tell it who comes."""
        page = self.client.http.get(self.portal.root + SESSION + path, timeout=TIMEOUT_S)
        if "/hub/api/oauth2/authorize" not in page.url:
            return page
        fields = [dict(_FIELD.findall(one)) for one in _HIDDEN.findall(page.text)]
        data = [(one["name"], html.unescape(one["value"])) for one in fields]
        return self.client.http.post(page.url, data=data, timeout=TIMEOUT_S)

    def ask(
        self, method: str, path: str, *, by_token: bool = False, **kwargs: Any
    ) -> requests.Response:
        """Ask for a path of the portal's host; redirects are not followed."""
        headers, cookies = self.credentials(by_token=by_token)
        headers |= kwargs.pop("headers", {})
        return requests.request(
            method,
            self.portal.root + path,
            headers=headers,
            cookies=cookies,
            allow_redirects=False,
            timeout=kwargs.pop("timeout", TIMEOUT_S),
            **kwargs,
        )

    def credentials(self, *, by_token: bool) -> tuple[dict[str, str], Any]:
        """Return headers and cookies of this user."""
        if by_token:
            return {"Authorization": f"token {self.token}"}, None
        return {"X-XSRFToken": self.client.xsrf_of(SESSION)}, self.client.http.cookies

    def share(self, route: str = "share", **fields: str) -> None:
        """Send the form that lets somebody in, or with the route `unshare` the one that ends it."""
        answer = self.client.http.post(
            f"{self.portal.url}/hub/portal/{route}/{self.name}",
            data={"_xsrf": self.client.xsrf, "kind": "user", **fields},
            timeout=TIMEOUT_S,
        )
        assert answer.ok, answer.text

    def server(self) -> dict[str, Any]:
        """Return what REST says of this user's session."""
        return self.client.server(self.token)

    def open_websocket(self, path: str, *, by_token: bool = False) -> OpenWebSocket:
        """Ask for a websocket."""
        headers, cookies = self.credentials(by_token=by_token)
        sent = "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies or ())
        return OpenWebSocket(self.portal.root, path, {**headers, "Cookie": sent})

    def type_in_terminal(self, name: str, line: str) -> None:
        """Run a line in a terminal of the session."""
        asyncio.run(self._type(f"{SESSION}terminals/websocket/{name}", line))

    async def _type(self, path: str, line: str) -> None:
        url = self.portal.root.replace("http", "ws", 1) + path
        headers = {"Authorization": f"token {self.token}"}
        terminal = await websocket_connect(HTTPRequest(url, headers=headers))
        await terminal.write_message(json.dumps(["stdin", f"{line}\recho ty''ped\r"]))
        async with asyncio.timeout(TIMEOUT_S):
            while "typed" not in str(message := await terminal.read_message()):
                assert message is not None, "the terminal was closed"
        await close_websocket(terminal)


class OpenWebSocket:
    """A websocket, if it was accepted, with the `status` of the answer."""

    def __init__(self, root: str, path: str, headers: dict[str, str]) -> None:
        there = urlsplit(root)
        self._socket = socket.create_connection((there.hostname, there.port), timeout=TIMEOUT_S)
        lines = {"Host": there.netloc, **headers, **WEBSOCKET}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self._socket.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        said = self._socket.recv(_HEAD_BYTES)
        self.status = int(said.split(maxsplit=2)[1])
        self._socket.settimeout(0)

    def is_closed(self) -> bool:
        """Return whether the portal has closed it."""
        try:
            while self._socket.recv(_HEAD_BYTES):
                pass
        except BlockingIOError:
            return False
        except ConnectionError:
            pass
        return True

    def close(self) -> None:
        """Close it from here."""
        self._socket.close()
