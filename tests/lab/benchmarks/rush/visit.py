"""The way of one user of a rush, as a browser sends it: login, home, form, start, until ready."""

import contextlib
import json
import time
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import quote, urlencode, urljoin

from tornado.httpclient import AsyncHTTPClient, HTTPRequest, HTTPResponse

from tests.lab.benchmarks.rush.people import Person

READY_TIMEOUT_S = 900.0


@dataclass(slots=True)
class Visit:
    """What one user met.

    Attributes:
        places: What the page of the start said about the place in line.
        error: What went wrong; empty if nothing did.
    """

    took_s: dict[str, float] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    error: str = ""


class Browser:
    """Cookies of one user, and requests with them; redirects are not followed."""

    def __init__(self, client: AsyncHTTPClient, address: str) -> None:
        self._client = client
        self._address = address
        self._cookies: dict[str, str] = {}

    @property
    def xsrf(self) -> str:
        """JupyterHub's cross-site token."""
        return self._cookies["_xsrf"]

    async def send(
        self, method: str, path: str, *, form: dict[str, str] | None = None, **options: object
    ) -> HTTPResponse:
        """Send a request and keep the cookies of the answer."""
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if method == "DELETE":
            headers["X-XSRFToken"] = self.xsrf
        body = None
        if form is not None:
            body = urlencode(form)
            path += f"{'&' if '?' in path else '?'}{urlencode({'_xsrf': self.xsrf})}"
        request = HTTPRequest(
            urljoin(self._address, path),
            method=method,
            body=body,
            headers=headers,
            follow_redirects=False,
            connect_timeout=60,
            **{"request_timeout": 60.0, **options},  # type: ignore[arg-type]
        )
        answer = await self._client.fetch(request, raise_error=False)
        for line in answer.headers.get_list("Set-Cookie"):
            for name, morsel in SimpleCookie(line).items():
                self._cookies[name] = morsel.value
        if answer.code >= 400:
            raise RuntimeError(f"{method} {path}: {answer.code} {answer.body[:300]!r}")
        return answer


async def visit(
    person: Person, client: AsyncHTTPClient, options: dict[str, str], address: str, link: str = ""
) -> Visit:
    """Log in, look at the form, start a session, wait until it is ready and stop it.

    Args:
        link: Leads to the form by way of the login; without it users come by the home page.
    """
    met = Visit()
    following = f"?next={quote(link, safe='')}"
    browser = Browser(client, address)
    login = {"username": person.name, "password": person.password}

    async def step(name: str, method: str, path: str, **rest: object) -> HTTPResponse:
        before = time.monotonic()
        answer = await browser.send(method, path, **rest)  # type: ignore[arg-type]
        met.took_s[name] = time.monotonic() - before
        return answer

    try:
        if link:
            await step("link", "GET", link)
        await step("login page", "GET", f"/hub/login{following if link else ''}")
        await step("login", "POST", f"/hub/login{following}", form=login)
        if not link:
            await step("home", "GET", "/hub/home")
        await step("form", "GET", link or "/hub/spawn")
        asked = time.monotonic()
        await step("start answered", "POST", "/hub/spawn", form=options)
        await _follow(person, browser, met)
        met.took_s["ready"] = time.monotonic() - asked
        await step("stop answered", "DELETE", f"/hub/api/users/{person.name}/server")
    except (RuntimeError, OSError) as error:
        met.error = f"{person.name}: {error}"
        with contextlib.suppress(RuntimeError, OSError):
            await browser.send("DELETE", f"/hub/api/users/{person.name}/server")
    return met


async def _follow(person: Person, browser: Browser, met: Visit) -> None:
    """Read the progress of the start, as the page does, to its end."""
    rest = b""
    last: dict[str, object] = {}

    def take(chunk: bytes) -> None:
        nonlocal rest
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                last.clear()
                last.update(json.loads(line[5:]))
                message = str(last.get("message", ""))
                if " in line" in message and message not in met.places:
                    met.places.append(message)

    while not last.get("ready"):
        path = f"/hub/api/users/{person.name}/server/progress"
        await browser.send("GET", path, streaming_callback=take, request_timeout=READY_TIMEOUT_S)
        if last.get("failed"):
            raise RuntimeError(f"the start failed: {last.get('message')}")
