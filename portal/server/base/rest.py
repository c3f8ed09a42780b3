"""Routes of REST APIs: what a function returns is the answer, as JSON."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from inspect import isawaitable
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import RequestHandler

from dsportal.slurm.errors import OptionsError
from portal.server.base.authorization import for_the_user, telling_errors

# Gets the request, and the groups of its route's pattern.
Method = Callable[..., Any]
Route = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose status is not 200."""

    status: int
    content: object = None


def route(pattern: str, resource: str, *, is_polled: bool = False, **methods: Method) -> Route:
    """Return a route for those who may use the session; `is_authorized` is asked for `resource`.

    Args:
        is_polled: Whether open pages ask by themselves, which must not count as activity.
        methods: Functions, by names such as `get`, that may be coroutines. What they return goes to
            the browser: None as 204, else JSON, in which dataclasses are objects.
    """
    members: dict[str, Any] = {
        "auth_resource": resource,
        "_track_activity": not is_polled,
        "on_finish": _free_body,
    }
    members |= {name: for_the_user(_method(name, ask)) for name, ask in methods.items()}
    return pattern, type("RestHandler", (APIHandler,), members)


def local_route(pattern: str, **methods: Method) -> Route:
    """Return one without a login, on the socket that only the user's own programs can open."""
    members = {name: telling_errors(_method(name, ask)) for name, ask in methods.items()}
    return pattern, type("LocalHandler", (RequestHandler,), members)


def read_body(request: RequestHandler) -> Any:
    """Return the JSON that was sent."""
    try:
        return json.loads(request.request.body)
    except ValueError:
        raise OptionsError("What was sent is not JSON. Reload the page.") from None


def body_value(request: RequestHandler, name: str) -> Any:
    """Return a value of the object that was sent; None if it lacks it, or is no object."""
    body = read_body(request)
    return body.get(name) if isinstance(body, dict) else None


def _free_body(handler: RequestHandler) -> None:
    """Free the body, which may have 64 MiB.

    JupyterHub's code for sessions gives each handler a function that holds the handler, so that
    both stay until Python's collector of cycles comes by. It counts objects, not bytes.

    Source:
        JupyterHub 6.1.1, `JupyterHubIdentityProvider._patch_get_login_url`.
    """
    handler.request.body = b""


def _method(name: str, ask: Method) -> Any:
    async def answer(request: RequestHandler, *args: str) -> None:
        found = ask(request, *args)
        if isawaitable(found):
            found = await found
        answer = (
            found if isinstance(found, Answer) else Answer(204 if found is None else 200, found)
        )
        request.set_status(answer.status)
        if answer.status != 204:
            request.set_header("Content-Type", "application/json")
            request.write(json.dumps(answer.content, default=asdict).replace("</", "<\\/"))
        request.finish()

    # Whether it reads or writes.
    answer.__name__ = name
    return answer
