"""What administrators' tools ask of a running hub.

* GET /hub/api/dsportal/health: is the portal usable; for everybody, without a token. 200 or 503.
* GET /hub/api/dsportal/status: sessions and versions.
* PUT, DELETE /hub/api/dsportal/drain: take no new sessions; take them again.
* POST /hub/api/dsportal/stop: stop the sessions of a partition, or all, with a message.

All but the first need a token with the scope admin:servers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupyterhub
from jupyterhub import orm
from jupyterhub.apihandlers import APIHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError

from portal.hub.admin.visits import address_of
from portal.hub.messages.drain import Drain, shared_drain
from portal.hub.messages.stop_notices import MOST_CHARACTERS, shared_notices
from portal.hub.pages.stop_handler import stop_session
from portal.hub.pages.suspension import is_suspended
from spawner import __version__
from spawner.errors import PortalError
from spawner.session.cluster import Cluster, cluster_of

SCOPE = "admin:servers"
_SLURM_PATIENCE_S = 5.0


class OperationHandler(APIHandler):
    """Holds what the handlers of this module share."""

    def initialize(self, notices_path: str, drain_path: str) -> None:
        """Take where the hub keeps its state.

        Args:
            notices_path: Messages to users.
            drain_path: Whether new sessions are taken.
        """
        self.notices = shared_notices(Path(notices_path))
        self.drain: Drain = shared_drain(Path(drain_path))

    async def describe_slurm(self) -> str:
        """Return "answers", or what is wrong; "not asked" before the very first login."""
        cluster = self._cluster()
        if cluster is None:
            return "not asked"
        try:
            await asyncio.wait_for(cluster.read_catalog(), _SLURM_PATIENCE_S)
        except TimeoutError:
            return "no answer"
        except PortalError as error:
            return error.message
        return "answers"

    def _cluster(self) -> Cluster | None:
        # Spawners are given these settings, of which the handlers have a copy.
        known = cluster_of(self.users.settings)
        if known is not None:
            return known
        anybody = self.db.query(orm.User).first()
        if anybody is None:
            return None
        cluster: Cluster = self._user_from_orm(anybody).spawner.cluster
        return cluster

    def sessions(self) -> Iterator[tuple[Any, Any]]:
        """Yield user and spawner of each session that runs or starts.

        Yields:
            Both, as JupyterHub holds them.
        """
        for user in self.users.values():
            for spawner in user.spawners.values():
                if spawner.active:
                    yield user, spawner

    def body(self) -> dict[str, Any]:
        """Return the JSON object of the request.

        Raises:
            HTTPError: 400 where it is anything else.
        """
        try:
            body = json.loads(self.request.body or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict) or not all(isinstance(v, str) for v in body.values()):
            raise HTTPError(400, "The body has to be a JSON object of texts.")
        return body


class HealthHandler(OperationHandler):
    """Says whether the portal is usable; names no user and no session."""

    async def get(self) -> None:
        """Answer 200 where new sessions can start, 503 where Slurm does not answer."""
        slurm = await self.describe_slurm()
        is_well = slurm in {"answers", "not asked"}
        self.set_header("Cache-Control", "no-store")
        self.set_status(200 if is_well else 503)
        self.finish(
            json.dumps(
                {
                    "hub": "answers",
                    "slurm": slurm if is_well else "no answer",
                    "takes_sessions": is_well and not self.drain.message,
                }
            )
        )


class StatusHandler(OperationHandler):
    """Tells of all sessions."""

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Answer with a JSON object."""
        answer = {
            "portal": __version__,
            "jupyterhub": jupyterhub.__version__,
            "slurm": await self.describe_slurm(),
            "drain": self.drain.message,
            # 'dsportal check' compares it with the address that it asked from.
            "asked_from": address_of(self),
            "sessions": [describe(user, spawner) for user, spawner in self.sessions()],
        }
        self.finish(json.dumps(answer))


class DrainHandler(OperationHandler):
    """Closes and opens the door for new sessions."""

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def put(self) -> None:
        """Take no new sessions; tell the users of open ones. 200 and how many were told.

        Raises:
            HTTPError: 400 for another body; 500 where it cannot be kept over a restart.
        """
        message = self.body().get("message", "")
        try:
            self.drain.close(message)
        except PortalError as error:
            raise HTTPError(500, error.message) from error
        told = {user.name for user, _ in self.sessions()}
        for name in told:
            self.notices.send(name, self.drain.message, sender="administrators")
        self.log.warning("No new sessions are taken: %s", self.drain.message)
        self.finish(json.dumps({"drain": self.drain.message, "told": len(told)}))

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def delete(self) -> None:
        """Take new sessions again: 204."""
        self.drain.open()
        self.log.warning("New sessions are taken again")
        self.set_status(204)


class StopHandler(OperationHandler):
    """Stops sessions, with a message to their users."""

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def post(self) -> None:
        """Stop those of `partition`, or of `user`, or all of them: 200 and what became of each.

        Raises:
            HTTPError: 400 where neither is named and `all` is not "yes".
        """
        body = self.body()
        partition, whose = body.get("partition", ""), body.get("user", "")
        if not (partition or whose or body.get("all") == "yes"):
            raise HTTPError(400, 'Name a partition or a user, or send "all": "yes".')
        chosen = [
            (user, spawner)
            for user, spawner in self.sessions()
            if whose in {"", user.name} and partition in {"", _partition_of(spawner)}
        ]
        message = body.get("message", "")[:MOST_CHARACTERS]
        results = await asyncio.gather(*(self._stop(u, s, message) for u, s in chosen))
        self.finish(json.dumps({"sessions": results}))

    async def _stop(self, user: Any, spawner: Any, message: str) -> dict[str, Any]:
        told = describe(user, spawner)
        try:
            await stop_session(self, user.name, spawner.name)
        except HTTPError as error:
            return told | {"stopped": False, "reason": error.log_message}
        text = f"Your session was stopped by the administrators. {message}".strip()
        self.notices.send(user.name, text, sender="administrators")
        self.log.warning(
            "Stopped the session of %s", user.name, extra={"user": user.name, **_job(told)}
        )
        return told | {"stopped": True}


def describe(user: Any, spawner: Any) -> dict[str, Any]:
    """Return what administrators want to know of a session.

    Args:
        user: Whose it is.
        spawner: The session.

    Returns:
        A JSON object.
    """
    session, record = spawner.session, spawner.job_record
    return {
        "user": user.name,
        "name": spawner.name,
        "job_id": session.job_id if session is not None else 0,
        "partition": session.partition if session is not None else "",
        "gpus": session.n_gpus if session is not None else 0,
        "state": _state_of(spawner),
        "node": record.node if record is not None else "",
        "reason": record.reason if record is not None and not spawner.ready else "",
        "ends_at": record.ends_at if record is not None else "",
    }


def _state_of(spawner: Any) -> str:
    if is_suspended(spawner):
        return "suspended"
    return "running" if spawner.ready else str(spawner.pending or "starting")


def _partition_of(spawner: Any) -> str:
    return str(spawner.session.partition) if spawner.session is not None else ""


def _job(told: dict[str, Any]) -> dict[str, Any]:
    return {"job_id": told["job_id"]} if told["job_id"] else {}


def operation_routes(*, notices_path: Path, drain_path: Path) -> list[Any]:
    """Return the routes of this module, below the hub's own address.

    Args:
        notices_path: Where messages to users are kept.
        drain_path: Where it is kept whether new sessions are taken.

    Returns:
        Routes for `JupyterHub.extra_handlers`.
    """
    kept = {"notices_path": str(notices_path), "drain_path": str(drain_path)}
    handlers = {
        "health": HealthHandler,
        "status": StatusHandler,
        "drain": DrainHandler,
        "stop": StopHandler,
    }
    return [(rf"/api/dsportal/{name}", handler, kept) for name, handler in handlers.items()]
