"""The access check of all handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

_Method = TypeVar("_Method", bound=Callable[..., Awaitable[None]])


def for_the_user(method: _Method) -> _Method:
    """Let only logged-in people who may use this server call a handler's method.

    Anybody else gets 403, or a browser the login page. A method called post, put or delete needs
    the right to write, any other the right to read.

    Source:
        jupyter_server 2.21, "Security": `authenticated` says who, `authorized` says whether.
    """
    action: dict[str, Any] = {"post": "write", "put": "write", "delete": "write"}
    guarded = authorized(action.get(method.__name__, "read"))(method)
    return cast("_Method", authenticated(guarded))
