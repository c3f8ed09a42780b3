"""What all handlers have in common: who may call them, and how an error is told."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar, cast

from jupyter_server.auth.decorator import authorized
from tornado.log import app_log
from tornado.web import RequestHandler, authenticated

from dsportal.slurm.errors import PortalError
from portal.server.patches.signature_store import is_full

_Method = TypeVar("_Method", bound=Callable[..., Awaitable[None]])


class RouteArguments:
    """A handler that has the arguments of its route as attributes, which its class declares."""

    def initialize(self, **arguments: Any) -> None:
        """Keep the route's `arguments`, which have the types that the class declares."""
        for name, value in arguments.items():
            setattr(self, name, value)


def for_the_user(method: _Method) -> _Method:
    """Let only logged-in people who may use this server call a handler's method.

    Anybody else gets 403, or a browser the login page. A method called post, put or delete needs
    the right to write, any other the right to read. Errors are told as by `telling_errors`.

    Source:
        jupyter_server 2.21, "Security": `authenticated` says who, `authorized` says whether.
    """
    action: dict[str, Any] = {"post": "write", "put": "write", "delete": "write"}
    guarded = authorized(action.get(method.__name__, "read"))(telling_errors(method))
    return cast("_Method", authenticated(guarded))


def telling_errors(method: _Method) -> _Method:
    """Answer a PortalError with its status and `{"message": sentence}`, a full disk with 507."""

    @wraps(method)
    async def answer(handler: RequestHandler, *args: Any, **kwargs: Any) -> None:
        try:
            await method(handler, *args, **kwargs)
        except (PortalError, OSError) as error:
            if isinstance(error, PortalError):
                status, message = error.http_status, error.message
            elif is_full(error):
                status, message = 507, f"There is no room for it ({error}). Make room."
            else:
                raise
            getattr(handler, "log", app_log).warning("%s", error)
            handler.set_status(status)
            handler.finish({"message": message})

    return cast("_Method", answer)


def whole_number(text: str, otherwise: int) -> int:
    """Return a number of 0 or more that a request has as `text`, or `otherwise` for any other."""
    # isdecimal() also accepts the digits of other scripts, and int() takes long to read many.
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else otherwise
