"""API routes for a session's server, or its user, about the session's time.

* GET /hub/api/dsportal/session: time left and notices, with the session's own token; `?job=ID`,
  once or more, also asks for the places in the queue of these jobs, and `?elsewhere=1` for the
  user's jobs on other clusters.
* POST /hub/api/dsportal/extend: extend it, with the session's own token.
* DELETE /hub/api/dsportal/session: stop it, with the session's own token; `?because=idle` has the
  hub tell its user that nobody used it; `?because=exit` says that the server ends by itself
  or was told to by Slurm, and the hub sends nothing more to it and checks its job.
* POST /hub/api/dsportal/users/NAME/extend: extend it, with a token of that user; a session with
  a name of its own at users/NAME/servers/SESSION/extend.
"""

import asyncio
import json
import re

from jupyterhub.apihandlers import APIHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError

from dsportal.slurm.errors import PortalError
from spawner.hub.extend_session import describe_time, extend_session
from spawner.hub.jobs_elsewhere import list_elsewhere
from spawner.hub.port_api import spawner_of_token
from spawner.hub.session_mixin import SessionMixin
from spawner.session.queue_status import QUEUE_PLACE, format_place
from spawner.session.session_end import SessionEnd

_JOB_ID = re.compile("[0-9]{1,10}", re.ASCII)
# The event loop keeps only weak references to tasks.
_endings: set[asyncio.Task[None]] = set()


class SessionHandler(APIHandler):
    """Tells a session how much time it has left, and stops it."""

    async def get(self) -> None:
        """Answer with `describe_time`, "notices" and "refusal": 200, or 403 for any other token.

        With jobs it has "places", in words by their ids, as far as they are known. Asked for it,
        it has "elsewhere", see `list_elsewhere`.
        """
        spawner = spawner_of_token(self)
        notices = [str(text) for text in spawner.session_notices()]
        refusal = str(spawner.session_refusal())
        told = {**describe_time(spawner), "notices": notices, "refusal": refusal}
        job_ids = [word for word in self.get_query_arguments("job") if _JOB_ID.fullmatch(word)]
        # Slurm may show a user their own jobs only; the hub sees the whole queue.
        places = {word: await spawner.cluster.queue.place(int(word)) for word in job_ids}
        told["places"] = {
            word: f"{QUEUE_PLACE}: {format_place(place)}."
            for word, place in places.items()
            if place is not None
        }
        if self.get_query_argument("elsewhere", ""):
            told["elsewhere"] = await list_elsewhere(spawner)
        self.finish(json.dumps(told))

    async def delete(self) -> None:
        """Stop the session whose server holds the token: 202."""
        spawner = spawner_of_token(self)
        because = self.get_query_argument("because", "")
        if because == "exit":
            # Not a request to stop: the server ends anyway, and the job tells how.
            if not spawner.pending:
                await self.proxy.delete_user(spawner.user, spawner.name)
                spawner.poll_soon()
        elif not spawner.pending:
            self.log.info("The session of %s gives itself back", spawner.user.name)
            if because == "idle" and spawner.session is not None:
                spawner.ending = SessionEnd.of_idle(spawner.session.job_id)
            # The caller is what will be stopped, so the answer comes first.
            ending = asyncio.ensure_future(self.stop_single_user(spawner.user, spawner.name))
            _endings.add(ending)
            ending.add_done_callback(_endings.discard)
        self.set_status(202)


class ExtensionHandler(APIHandler):
    """Extends the session whose server holds the token."""

    async def post(self) -> None:
        """Extend it: 200 and `describe_time`; 409 and the reason if that is not possible."""
        await _answer_extension(self, spawner_of_token(self))


class UserExtensionHandler(APIHandler):
    """Extends a user's session, for whoever may start that user's servers."""

    @needs_scope("servers")  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str = "") -> None:
        """Extend it: 200 and `describe_time`; 409 and the reason if that is not possible."""
        user = self.find_user(user_name)
        if user is None or server_name not in user.spawners:
            raise HTTPError(404, "There is no such session. Start one from the portal.")
        await _answer_extension(self, user.spawners[server_name])


async def _answer_extension(handler: APIHandler, spawner: SessionMixin) -> None:
    user = spawner.user.name
    try:
        await extend_session(spawner)
    except PortalError as error:
        handler.log.warning("The session of %s is not extended: %s", user, error)
        handler.set_status(error.http_status)
        handler.finish(json.dumps({"message": error.message}))
        return
    handler.log.info("The session of %s is extended", user)
    handler.finish(json.dumps(describe_time(spawner)))


ROUTES = (
    ("/api/dsportal/session", SessionHandler),
    ("/api/dsportal/extend", ExtensionHandler),
    ("/api/dsportal/users/([^/]+)/extend", UserExtensionHandler),
    ("/api/dsportal/users/([^/]+)/servers/([^/]+)/extend", UserExtensionHandler),
)
