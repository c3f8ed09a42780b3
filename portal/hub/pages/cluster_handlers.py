"""Handlers of the cluster page, and of the forms on it and on the home page."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jupyterhub.handlers import BaseHandler
from jupyterhub.utils import maybe_future
from tornado.web import HTTPError, authenticated

from dsportal.slurm.errors import PortalError
from portal.hub.messages.stop_notices import shared_notices
from portal.hub.pages.all_sessions import list_sessions
from portal.hub.pages.cluster_view import ClusterView, count_by_type, describe_cluster
from spawner.hub.cluster_offer import ClusterOffer
from spawner.hub.session_mixin import SessionMixin
from spawner.slurm.catalog import Catalog

# What comes later is shown the next time.
_PATIENCE_S = 1.0


class ClusterHandler(BaseHandler):
    """Shows the cluster to every user."""

    @authenticated
    async def get(self) -> None:
        """Show the page."""
        spawner = self.current_user.spawner
        here = spawner.on(spawner.offered_cluster(self.get_query_argument("cluster", "")))
        page = self.render_template(
            "cluster.html",
            cluster=await self._describe(here),
            shown=here.cluster.name,
            others=await describe_others(spawner),
        )
        self.finish(await page)

    async def _describe(self, here: ClusterOffer) -> ClusterView:
        sessions = [
            # A job's id is of its cluster alone.
            row
            for row in list_sessions(self.users.values(), datetime.now(UTC))
            if row.cluster == here.cluster.name
        ]
        catalog, problem = None, ""
        try:
            catalog = offered(await here.read_catalog(), here.traits.partitions)
        except PortalError as error:
            problem = error.message
        jobs, jobs_problem = None, ""
        try:
            jobs = await here.cluster.jobs.get_within(_PATIENCE_S)
        except PortalError as error:
            jobs_problem = error.message
        return describe_cluster(
            sessions,
            catalog=catalog,
            problem=problem,
            jobs=jobs,
            # Once is enough if Slurm answers nothing.
            jobs_problem="" if problem else jobs_problem,
            user=self.current_user.name,
            accuracy=here.cluster.forecasts.accuracy,
        )


async def describe_others(spawner: SessionMixin) -> dict[str, tuple[str, str]]:
    """Return the title of each cluster and what is free there, by name; none for one cluster."""
    names = ("", *spawner.clusters) if spawner.clusters else ()
    each = [spawner.on(name) for name in names]
    free = await asyncio.gather(*(_describe_free(here) for here in each))
    return {here.cluster.name: (here.title, words) for here, words in zip(each, free, strict=True)}


async def _describe_free(here: ClusterOffer) -> str:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            catalog = offered(await here.read_catalog(), here.traits.partitions)
    except TimeoutError:
        return "has not answered yet"
    except PortalError:
        return "does not answer"
    rows = list(count_by_type(catalog))
    return f"{sum(row.free for row in rows)} of {sum(row.total for row in rows)} free"


class NoticesHandler(BaseHandler):
    """Removes the messages that a user has read."""

    def initialize(self, notices_path: str) -> None:
        """Take the file of the messages to users."""
        self._notices = shared_notices(Path(notices_path))

    @authenticated
    async def post(self) -> None:
        """Delete the messages of the current user, and show the home page again."""
        self._notices.clear(self.current_user.name)
        self.redirect(f"{self.hub.base_url}home")


class NewSessionHandler(BaseHandler):
    """Redirects from the name of a new session to its form."""

    @authenticated
    async def get(self) -> None:
        """Redirect; the form reports what is wrong with a name."""
        # JupyterHub accepts only small letters; a capital is no reason to ask again.
        name = self.get_query_argument("name", "").strip().lower()
        user = self.current_user.escaped_name
        # Without a name the address is that of the session without one.
        self.redirect(f"{self.hub.base_url}spawn/{user}/{quote(name, safe='')}".rstrip("/"))


class RemoveSessionHandler(BaseHandler):
    """Deletes a named session that is not running, so that another one may be added."""

    @authenticated
    async def post(self, server_name: str) -> None:
        """Delete a session of the current user; files are not touched."""
        user = self.current_user
        # Not user.spawners, which makes a session for every name that it is asked for.
        if server_name not in user.orm_spawners:
            raise HTTPError(404, "There is no such session. It may have been removed already.")
        spawner = user.spawners[server_name]
        if spawner.active or spawner.pending:
            raise HTTPError(400, f"The session {server_name} runs. Stop it first.")
        # The steps of JupyterHub's REST API, which has no public function for them.
        await maybe_future(user._delete_spawner(spawner))
        self.db.delete(spawner.orm_spawner)
        user.spawners.pop(server_name, None)
        self.db.commit()
        self.redirect(f"{self.hub.base_url}home")


def offered(catalog: Catalog, partitions: Sequence[str]) -> Catalog:
    """Return the part of a catalog that users may choose, computed once for each answer of Slurm.

    No `partitions` means all.
    """
    if not partitions:
        return catalog
    return catalog.once(
        ("offered", tuple(partitions)),
        lambda: Catalog(
            partitions={
                name: part for name, part in catalog.partitions.items() if name in partitions
            }
        ),
    )


def cluster_routes(*, notices_path: Path) -> list[Any]:
    """Return the routes of this module for `JupyterHub.extra_handlers`."""
    kept = {"notices_path": str(notices_path)}
    return [
        (r"/cluster", ClusterHandler),
        (r"/portal/notices/read", NoticesHandler, kept),
        (r"/portal/new-session", NewSessionHandler),
        (r"/portal/remove-session/([^/]+)", RemoveSessionHandler),
    ]
