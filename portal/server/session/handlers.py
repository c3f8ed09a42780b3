"""REST API `portal/api/session`, which every tab polls every few seconds.

Programs of the user's have the same on the unix socket that only the user can open. VS Code shows
the time left there, and tells when somebody uses it.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from tornado.web import HTTPError, RequestHandler

from portal.server.base.guest_rights import is_guest
from portal.server.base.rest import Answer, Method, Route, local_route, route
from portal.server.session.monitor import SessionMonitor


def session_routes(session: SessionMonitor) -> list[Route]:
    """Return the routes of pages, in which a guest neither ends the session nor gives it time."""
    polled = partial(route, resource="session", is_polled=True)

    async def describe(request: RequestHandler) -> dict[str, Any]:
        age_s = parse_age(request.get_query_argument("input_age_s", ""))
        # A guest who types keeps no session; what runs in it does.
        if age_s is not None and not is_guest(request):
            session.note_input(age_s)
        return await session.describe()

    def history(request: RequestHandler) -> dict[str, Any]:
        since_start = request.get_query_argument("since", "") == "start"
        return session.describe_history(since_start=since_start)

    return [
        polled(r"/portal/api/session", get=describe, delete=_by_owner(partial(_end, session))),
        polled(r"/portal/api/session/history", get=history),
        polled(r"/portal/api/session/activity", get=lambda _: session.describe_activity()),
        polled(r"/portal/api/session/extension", post=_by_owner(lambda _: session.clock.extend())),
        polled(r"/portal/api/session/keep", post=_by_owner(lambda _: session.keep())),
    ]


def local_session_routes(
    session: SessionMonitor, page: str, note_use: Callable[[], None]
) -> list[Route]:
    """Return the routes of programs.

    Args:
        page: Path of the session's page.
        note_use: Records use of the session for the hub, which stops unused ones.
    """

    async def describe(request: RequestHandler) -> dict[str, Any]:
        age_s = parse_age(request.get_query_argument("input_age_s", ""))
        if age_s is not None:
            session.note_input(age_s)
            note_use()
        return {**await session.describe(), "page": page}

    def keep(_: RequestHandler) -> None:
        session.keep()
        note_use()

    return [
        local_route(r"/session", get=describe, delete=partial(_end, session)),
        local_route(r"/session/extension", post=lambda _: session.clock.extend()),
        local_route(r"/session/keep", post=keep),
    ]


async def _end(session: SessionMonitor, _: RequestHandler) -> Answer:
    await session.give_back()
    return Answer(202)


def _by_owner(ask: Method) -> Method:
    def asked(request: RequestHandler) -> Any:
        if is_guest(request):
            raise HTTPError(403, "Only the owner of this session ends it or gives it more time.")
        return ask(request)

    return asked


def parse_age(text: str) -> float | None:
    """Return an age in seconds, or None for anything but a finite number of 0 or more."""
    try:
        age_s = float(text)
    except ValueError:
        return None
    return age_s if math.isfinite(age_s) and age_s >= 0 else None
