"""What a web tool gets of a request."""

import pytest
from tornado.httputil import HTTPHeaders

from portal.server.web_tools.handlers import harmless_headers, page_policy


@pytest.mark.parametrize(
    ("cookies", "kept"),
    [
        ("jupyterhub-user-ada=secret; jupyterhub-session-id=1; _xsrf=2", None),
        ("_xsrf=2; user-id=ada|x=y; username-localhost-8888=3", "user-id=ada|x=y"),
        ("__Host-jupyterhub-user-ada=secret; theme=dark", "theme=dark"),
    ],
)
def test_a_tool_gets_its_own_cookies_and_none_of_the_portal(cookies: str, kept: str | None) -> None:
    headers = HTTPHeaders({"Cookie": cookies, "Accept": "text/html"})

    harmless = harmless_headers(headers)

    assert harmless.get("Cookie") == kept
    assert harmless["Accept"] == "text/html"


def test_a_tool_gets_no_token() -> None:
    headers = HTTPHeaders({"Authorization": "token secret", "X-XSRFToken": "2"})

    assert list(harmless_headers(headers).get_all()) == []


def test_pages_of_a_tool_ask_nothing_but_what_they_are_given() -> None:
    policy = page_policy("lab.example.org", ("/user/ada/tool/", "https://open-vsx.org/"))

    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    assert set(allowed) == {"connect-src", "form-action", "frame-src", "object-src", "worker-src"}
    for name, sources in allowed.items():
        sites = {source for source in sources.split() if ":" not in source or "//" in source}
        own = {"lab.example.org/user/ada/tool/"}
        if name == "connect-src":
            own |= {f"{scheme}://lab.example.org/user/ada/tool/" for scheme in ("ws", "wss")}
        assert sites == own | {"https://open-vsx.org/"}
