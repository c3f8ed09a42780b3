"""REST API for administrators' tools: health, status, drain, stop.

* GET /hub/api/dsportal/health: whether the portal is usable; needs no token. 200 or 503.
* GET /hub/api/dsportal/status: sessions and versions.
* PUT, DELETE /hub/api/dsportal/drain: refuse new sessions; accept them again.
* POST /hub/api/dsportal/stop: stop the sessions of a partition, a user, or all, with a message.

All but the first need a token with the scope admin:servers.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jupyterhub
from jupyterhub import orm
from jupyterhub.apihandlers import APIHandler
from jupyterhub.scopes import needs_scope
from jupyterhub.user import User
from tornado.web import HTTPError

from dsportal.slurm.errors import PortalError
from portal.hub.admin.visits import request_address
from portal.hub.formatting import format_partition
from portal.hub.messages.drain import Drain, shared_drain
from portal.hub.messages.stop_notices import MOST_CHARACTERS, shared_notices
from portal.hub.pages.home import PATIENCE_S
from portal.hub.pages.kernel_gpus import find_kernel_gpus
from portal.hub.pages.stop_handler import stop_session
from portal.hub.pages.suspension import is_suspended
from spawner import __version__
from spawner.hub.session_mixin import SessionMixin
from spawner.session.cluster import Cluster
from spawner.session.clusters import latest_jobs_of
from spawner.slurm.cluster_jobs import ClusterJobs
from spawner.unwritable_database import has_room

SCOPE = "admin:servers"


class OperationHandler(APIHandler):
    """Base of the handlers here: notices, drain state, access to Slurm and to sessions."""

    def initialize(self, notices_path: str, drain_path: str) -> None:
        """Take the files in which the hub keeps its state."""
        self.notices = shared_notices(Path(notices_path))
        self.drain: Drain = shared_drain(Path(drain_path))

    async def describe_slurm(self) -> dict[str, str]:
        """Return for each cluster, by name, "answers" or an error message.

        Before the very first login there is only the first one, "not asked".
        """
        clusters = self._clusters()
        said = await asyncio.gather(*map(_describe_cluster, clusters.values()))
        return dict(zip(clusters, said, strict=True)) or {"": "not asked"}

    def _clusters(self) -> Mapping[str, Cluster]:
        # Any spawner knows the clusters. One with a row, which JupyterHub writes otherwise: health
        # is also asked while the disk is full.
        row = self.db.query(orm.Spawner).filter_by(name="").first()
        if row is None:
            return {}
        return {one.name: one for one in self.users[row.user].spawner.all_clusters()}

    def sessions(self) -> Iterator[tuple[Any, Any]]:
        """Yield user and spawner, as JupyterHub holds them, for each session that is active."""
        for user in self.users.values():
            for spawner in user.spawners.values():
                if spawner.active:
                    yield user, spawner

    def body(self) -> dict[str, Any]:
        """Return the JSON object of the request, all of texts; {} for an empty body."""
        try:
            body = json.loads(self.request.body or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict) or not all(isinstance(v, str) for v in body.values()):
            raise HTTPError(400, "The body has to be a JSON object of texts.")
        return body


async def _describe_cluster(cluster: Cluster) -> str:
    try:
        # The first one ends by itself after `slurm_timeout_s`: a Slurm that starts wait for is no
        # fault. A further one that hangs does not delay what is said of the others.
        async with asyncio.timeout(PATIENCE_S if cluster.name else None):
            await cluster.catalog.get()
    except PortalError as error:
        return error.message
    except TimeoutError:
        return f"Slurm has not answered in {PATIENCE_S:g} s."
    return "answers"


class HealthHandler(OperationHandler):
    """Reports whether the portal is usable; names no user and no session."""

    async def get(self) -> None:
        """Answer 200 if new sessions can start or the site takes none, 503 if a part fails."""
        slurm = await self.describe_slurm()
        # Before the first login there is no spawner to ask Slurm with, which is no fault.
        said = {
            name: text if text in {"answers", "not asked"} else "no answer"
            for name, text in slurm.items()
        }
        # Sessions can start as long as one cluster answers.
        has_slurm = set(said.values()) != {"no answer"}
        is_refused = getattr(self.proxy, "is_refused", False)
        is_full = not has_room(self.db)
        is_well = has_slurm and not is_refused and not is_full
        self.set_status(200 if is_well else 503)
        self.finish(
            json.dumps(
                {
                    "hub": "answers",
                    "slurm": said.pop(""),
                    "clusters": said,
                    "proxy": "refuses the hub" if is_refused else "answers",
                    "disk": "full" if is_full else "has room",
                    "takes_sessions": is_well and not self.drain.message,
                }
            )
        )


class StatusHandler(OperationHandler):
    """Lists all sessions."""

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Answer with versions, the state of each cluster and the sessions, as JSON."""
        slurm = await self.describe_slurm()
        answer = {
            "portal": __version__,
            "jupyterhub": jupyterhub.__version__,
            "slurm": slurm.pop(""),
            "clusters": slurm,
            "drain": self.drain.message,
            # 'dsportal check' compares it with the address that it asked from.
            "asked_from": request_address(self),
            "sessions": await self._describe_sessions(),
        }
        self.finish(json.dumps(answer))

    async def _describe_sessions(self) -> list[dict[str, Any]]:
        now = datetime.now(UTC)
        jobs = await latest_jobs_of(self._clusters().values(), patience_s=PATIENCE_S)
        sessions = []
        for user, spawner in self.sessions():
            told = describe(user, spawner)
            of_cluster = jobs.get(told["cluster"], ClusterJobs())
            held = find_kernel_gpus(of_cluster.kernels_of(user.name), told["job_id"], now)
            sessions.append(
                told | {"kernel_gpus": held.n_gpus, "kernel_partitions": list(held.partitions)}
            )
        return sessions


class DrainHandler(OperationHandler):
    """Stops and resumes the acceptance of new sessions."""

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def put(self) -> None:
        """Refuse new sessions, with a message on all pages and in open sessions: 200."""
        message = self.body().get("message", "")
        try:
            self.drain.close(message)
        except PortalError as error:
            raise HTTPError(500, error.message) from error
        self.log.warning("No new sessions are taken: %s", self.drain.message)
        self.finish(json.dumps({"drain": self.drain.message}))

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def delete(self) -> None:
        """Accept new sessions again: 204."""
        self.drain.open()
        self.log.warning("New sessions are taken again")
        self.set_status(204)


class StopHandler(OperationHandler):
    """Stops sessions and sends their users a message."""

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def post(self) -> None:
        """Stop those of `partition`, of `user`, or all: 200 with the result for each session.

        A partition is the first cluster's, or as `format_partition` writes it.
        """
        body = self.body()
        partition, whose = body.get("partition", ""), body.get("user", "")
        # An empty body must not stop every session.
        if bool(partition or whose) == (body.get("all") == "yes"):
            raise HTTPError(400, 'Name a partition or a user, or else send "all": "yes".')
        chosen = [
            (user, spawner)
            for user, spawner in self.sessions()
            if whose in {"", user.name} and partition in {"", _partition_name(spawner)}
        ]
        message = body.get("message", "")[:MOST_CHARACTERS]
        results = await asyncio.gather(*(self._stop(u, s, message) for u, s in chosen))
        self.finish(json.dumps({"sessions": results}))

    async def _stop(self, user: User, spawner: SessionMixin, message: str) -> dict[str, Any]:
        told = describe(user, spawner)
        try:
            await stop_session(self, user.name, spawner.name)
        except HTTPError as error:
            # The others are stopped all the same.
            return told | {"stopped": False, "reason": error.log_message}
        text = f"Your session was stopped by the administrators. {message}".strip()
        # Only after the stop: a session that continues needs no message.
        self.notices.send(user.name, text, sender="administrators")
        self.log.warning(
            "Stopped the session of %s", user.name, extra={"user": user.name, **_job(told)}
        )
        return told | {"stopped": True}


def describe(user: User, spawner: SessionMixin) -> dict[str, Any]:
    """Return the session of a `user` and a `spawner` as a JSON object for administrators."""
    session, record = spawner.session, spawner.job_record
    return {
        "user": user.name,
        "name": spawner.name,
        "cluster": session.cluster if session is not None else "",
        "job_id": session.job_id if session is not None else 0,
        "partition": session.partition if session is not None else "",
        "gpus": session.n_gpus if session is not None else 0,
        "state": _session_state(spawner),
        "node": record.node if record is not None else "",
        "reason": record.reason if record is not None and not spawner.ready else "",
        "ends_at": record.ends_at if record is not None else "",
    }


def _session_state(spawner: SessionMixin) -> str:
    if is_suspended(spawner):
        return "suspended"
    if spawner.ready and spawner.has_other_authority:
        return "unreachable"
    return "running" if spawner.ready else str(spawner.pending or "starting")


def _partition_name(spawner: SessionMixin) -> str:
    session = spawner.session
    return format_partition(session.cluster, session.partition) if session is not None else ""


def _job(told: dict[str, Any]) -> dict[str, Any]:
    return {"job_id": told["job_id"]} if told["job_id"] else {}


def operation_routes(*, notices_path: Path, drain_path: Path) -> list[Any]:
    """Return the routes of this module for `JupyterHub.extra_handlers`."""
    kept = {"notices_path": str(notices_path), "drain_path": str(drain_path)}
    handlers = {
        "health": HealthHandler,
        "status": StatusHandler,
        "drain": DrainHandler,
        "stop": StopHandler,
    }
    return [(rf"/api/dsportal/{name}", handler, kept) for name, handler in handlers.items()]
