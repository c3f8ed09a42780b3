"""Who may call a handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

_Method = TypeVar("_Method", bound=Callable[..., Awaitable[None]])


def for_the_user(method: _Method) -> _Method:
    """Let only people who are logged in and may use this server call a handler's method.

    Args:
        method: Method of a handler, named after what it answers or given to several of these names.

    Returns:
        The guarded method; it answers 403, or leads a browser to the login page.

    Source:
        jupyter_server 2.21, "Security": `authenticated` says who, `authorized` says whether.
    """
    action: dict[str, Any] = {"post": "write", "delete": "write"}
    guarded = authorized(action.get(method.__name__, "read"))(method)
    return cast("_Method", authenticated(guarded))
