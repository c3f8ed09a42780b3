"""Handlers of the administrators' page: all sessions, and the form that stops one."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jupyterhub.handlers import BaseHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError, authenticated

from dsportal.amounts import count
from portal.hub.messages.stop_notices import MOST_CHARACTERS, shared_notices
from portal.hub.pages.all_sessions import describe_administration, list_sessions
from portal.hub.pages.home import PATIENCE_S
from portal.hub.pages.stop_handler import stop_session
from spawner.session.clusters import latest_jobs_of

STOPS_SESSIONS = "delete:servers"


class AdministrationHandler(BaseHandler):
    """Shows administrators everybody's sessions."""

    @authenticated
    @needs_scope("admin-ui")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Show the page."""
        # Users have this scope with a filter, for their own sessions; without one it is an
        # administrator's.
        if STOPS_SESSIONS not in self.expanded_scopes:
            raise HTTPError(403, "You may not see everybody's sessions.")
        clusters = self.current_user.spawner.all_clusters()
        jobs = await latest_jobs_of(clusters, patience_s=PATIENCE_S)
        sessions = list_sessions(self.users.values(), datetime.now(UTC), jobs)
        view = describe_administration(sessions)
        page = self.render_template("administration.html", administration=view, count=count)
        self.finish(await page)


class MessageStopHandler(BaseHandler):
    """Lets an administrator stop a session with a message to its user."""

    def initialize(self, notices_path: str) -> None:
        """Take the file of the messages to users."""
        self._notices = shared_notices(Path(notices_path))

    @authenticated
    @needs_scope(STOPS_SESSIONS)  # type: ignore[untyped-decorator]
    async def get(self, user_name: str, server_name: str | None = None) -> None:
        """Show the form for the message.

        `server_name` is None for the session without a name.
        """
        user, name = self.find_user(user_name), server_name or ""
        # Asked first: user.spawners makes a session for every name that it is asked for.
        if user is None or name not in user.spawners or not user.spawners[name].active:
            raise HTTPError(404, "There is no such session. It may have been stopped already.")
        page = self.render_template(
            "stop_session.html",
            whose=user.name,
            server_name=server_name or "",
            most_characters=MOST_CHARACTERS,
        )
        self.finish(await page)

    @authenticated
    @needs_scope(STOPS_SESSIONS)  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str | None = None) -> None:
        """Keep the message and stop the session; Tornado checks the XSRF token.

        `server_name` is None for the session without a name.
        """
        message = self.get_body_argument("message", "").strip()
        await stop_session(self, user_name, server_name or "")
        which = f"session {server_name}" if server_name else "session"
        # After the stop: if that fails, there is nothing to tell the user.
        text = f"Your {which} was stopped by {self.current_user.name}."
        self._notices.send(
            user_name, f"{text} {message}".strip(), sender=str(self.current_user.name)
        )
        self.log.info("%s stopped the session of %s", self.current_user.name, user_name)
        self.redirect(f"{self.hub.base_url}administration")


def administration_routes(*, notices_path: Path) -> list[Any]:
    """Return the routes of this module for `JupyterHub.extra_handlers`."""
    kept = {"notices_path": str(notices_path)}
    return [
        (r"/administration", AdministrationHandler),
        (r"/cluster/stop/([^/]+)(?:/([^/]+))?", MessageStopHandler, kept),
    ]
