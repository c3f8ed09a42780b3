"""REST API `portal/api/session`, which every tab polls every few seconds."""

import json
import math

from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError

from portal.server.base.authorization import RouteArguments, for_the_user
from portal.server.base.guest_rights import is_guest
from portal.server.session.monitor import SessionMonitor


class _SessionHandler(RouteArguments, APIHandler):
    """Base of the session's handlers."""

    auth_resource = "session"
    # Polling of an open tab must not count as activity.
    _track_activity = False

    session: SessionMonitor

    def refuse_guests(self) -> None:
        """Leave the session's time to its owner.

        Raises:
            HTTPError: 403 for a guest.
        """
        if is_guest(self):
            raise HTTPError(403, "Only the owner of this session ends it or gives it more time.")


class SessionHandler(_SessionHandler):
    """The session's current state."""

    @for_the_user
    async def get(self) -> None:
        """Describe it; `input_age_s` is the seconds since somebody typed or clicked in the tab."""
        age_s = parse_age(self.get_query_argument("input_age_s", ""))
        # A guest who types keeps no session; what runs in it does.
        if age_s is not None and not is_guest(self):
            self.session.note_input(age_s)
        self.finish(json.dumps(await self.session.describe()))

    @for_the_user
    async def delete(self) -> None:
        """End the session: 202."""
        self.refuse_guests()
        await self.session.give_back()
        self.set_status(202)
        self.finish("null")


class HistoryHandler(_SessionHandler):
    """The session's use of resources over time."""

    @for_the_user
    async def get(self) -> None:
        """Return the samples of the last 15 minutes, or with `since=start` averages since then."""
        since_start = self.get_query_argument("since", "") == "start"
        self.finish(json.dumps(self.session.describe_history(since_start=since_start)))


class ActivityHandler(_SessionHandler):
    """What runs in the session, and advice."""

    @for_the_user
    async def get(self) -> None:
        """Return programs, cells and advice."""
        self.finish(json.dumps(await self.session.describe_activity()))


class ExtensionHandler(_SessionHandler):
    """Extensions of the session."""

    @for_the_user
    async def post(self) -> None:
        """Extend the session: 200 and the time left, or an error's status and sentence."""
        self.refuse_guests()
        self.finish((await self.session.clock.extend()).as_json())


class KeepHandler(_SessionHandler):
    """The user's answer to the idle warning."""

    @for_the_user
    async def post(self) -> None:
        """Keep the session: 204."""
        self.refuse_guests()
        self.session.keep()
        self.set_status(204)
        self.finish()


def parse_age(text: str) -> float | None:
    """Return an age in seconds, or None for anything but a finite number of 0 or more."""
    try:
        age_s = float(text)
    except ValueError:
        return None
    return age_s if math.isfinite(age_s) and age_s >= 0 else None


ROUTES = (
    (r"/portal/api/session", SessionHandler),
    (r"/portal/api/session/history", HistoryHandler),
    (r"/portal/api/session/activity", ActivityHandler),
    (r"/portal/api/session/extension", ExtensionHandler),
    (r"/portal/api/session/keep", KeepHandler),
)
