"""A name and a password as a browser sent them, and the errors that a login can end with."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from tornado.httputil import HTTPServerRequest
from tornado.web import HTTPError

USER_NAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")
LONGEST_PASSWORD = 1024
SECONDS_PER_MINUTE = 60


class LoginError(HTTPError):
    """A login that failed for another reason than a wrong name or password.

    Args:
        status: HTTP status.
        message: What the login page says.
        retry_after_s: Seconds until another attempt makes sense.
    """

    def __init__(self, status: int, message: str, *, retry_after_s: float = 0) -> None:
        super().__init__(status)
        self.jupyterhub_message = message
        self.headers = {"Retry-After": f"{math.ceil(retry_after_s)}"} if retry_after_s else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A name that a UNIX account may have, a password, and where they came from."""

    name: str
    password: str
    address: str


def read_credentials(
    request: HTTPServerRequest, form: Mapping[str, str], normalize: Callable[[str], str]
) -> Credentials | None:
    r"""Return what a login form says.

    Args:
        request: The request that carried the form.
        form: Its fields as JupyterHub read them: `username` and `password`.
        normalize: Turns a name as typed into the name of an account.

    Returns:
        The credentials, or None if they cannot be right: a name that no account has, an empty or
        very long password, or a control character anywhere.

    Source:
        tornado 6.6 turns control characters into spaces and strips them, so that "ada\n" would
        arrive as "ada": this looks at the form as it was sent.
    """
    sent = [value for values in request.body_arguments.values() for value in values]
    if any(CONTROL_CHARACTER.search(value.decode("utf-8", "replace")) for value in sent):
        return None
    name, password = normalize(form.get("username", "")), form.get("password", "")
    if not USER_NAME.fullmatch(name) or not password.strip() or len(password) > LONGEST_PASSWORD:
        return None
    return Credentials(name=name, password=password, address=client_address(request))


def client_address(request: HTTPServerRequest) -> str:
    """Return the address that a login comes from, which a client cannot choose.

    Args:
        request: A request that came through the proxy, or straight to the hub.

    Returns:
        The last address of X-Forwarded-For where the proxy sent it: a peer on the hub's own host,
        or one of JupyterHub's `trusted_downstream_ips`. Else the peer's own: nodes reach the hub
        directly, and what they put into that header is theirs.

    Source:
        configurable-http-proxy 5.3 appends the peer's address to X-Forwarded-For and passes
        X-Real-Ip, which Tornado prefers, on as the client sent it.
    """
    peer = _untrusted_peer(request)
    forwarded = request.headers.get("X-Forwarded-For", "")
    return peer or forwarded.rpartition(",")[2].strip() or str(request.remote_ip)


def _untrusted_peer(request: HTTPServerRequest) -> str:
    connection = getattr(request, "connection", None)
    context = getattr(connection, "context", None)
    stream = getattr(connection, "stream", None)
    if context is None or stream is None or not isinstance(context.address, tuple):
        return ""
    peer, own = str(context.address[0]), str(stream.socket.getsockname()[0])
    is_proxy = peer == own or ip_address(peer).is_loopback or peer in context.trusted_downstream
    return "" if is_proxy else peer


def format_wait(wait_s: float) -> str:
    """Return a time to wait in words.

    Args:
        wait_s: Seconds, above 0.

    Returns:
        For example "1 second", "45 seconds" or "3 minutes"; rounded up.
    """
    seconds = math.ceil(wait_s)
    if seconds < 90:
        return f"{seconds} second{'s' if seconds != 1 else ''}"
    return f"{-(-seconds // 60)} minutes"
