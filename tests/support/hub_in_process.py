"""A JupyterHub with the portal's settings inside the test's process: real routes, users, rights.

Its sessions are rows of the database: nothing starts, and no proxy runs.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jupyterhub import orm, roles
from jupyterhub.app import JupyterHub
from jupyterhub.objects import Server
from jupyterhub.proxy import Proxy
from jupyterhub.spawner import Spawner
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from traitlets.config import Config

from portal.hub.admin.tokens import OPERATOR, read_token
from portal.hub.apply import apply_settings
from portal.hub.settings.loader import load_settings
from spawner.errors import SlurmUnavailableError
from spawner.session.session import Session
from spawner.slurm.cluster_jobs import ClusterJobs
from tests.support.portal_toml import MINIMAL


class Slurm:
    """Answers what the hub's health and its status ask."""

    answers = True
    jobs = ClusterJobs()

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.catalog = SimpleNamespace(get=self._read_catalog)

    async def _read_catalog(self) -> None:
        if not self.answers:
            raise SlurmUnavailableError("Slurm does not answer.")

    async def latest_jobs(self, *, patience_s: float) -> ClusterJobs:
        """Return the jobs that a test says."""
        return self.jobs


SLURM = Slurm()
# A further cluster, of tests that offer it.
VOLTA = Slurm("volta")


class RowSpawner(Spawner):
    """A spawner whose session is what the test says.

    Attributes:
        stops: Names of the sessions that were stopped, "USER/NAME", of all spawners.
        clusters: Those of the site.
    """

    stops: list[str] = []  # noqa: RUF012
    cluster = SLURM
    clusters: list[Slurm] = [SLURM]  # noqa: RUF012
    job_record = None
    is_suspended = False
    has_other_authority = False
    session: Session | None = None
    token_id = 0

    def all_clusters(self) -> list[Slurm]:
        """Return the clusters of the site."""
        return self.clusters

    async def start(self) -> str:
        """Wait for the end of the test."""
        await asyncio.Event().wait()
        return ""

    async def stop(self, now: bool = False) -> None:
        """Note it."""
        self.stops.append(f"{self.user.name}/{self.name}")

    async def poll(self) -> int | None:
        """Say that it runs until it is stopped."""
        return 0 if f"{self.user.name}/{self.name}" in self.stops else None

    def owns_token(self, token_id: int) -> bool:
        """Return whether its server holds the token."""
        return self.token_id == token_id != 0


class QuietProxy(Proxy):
    """Takes every route."""

    is_refused = False

    async def add_route(self, routespec: str, target: str, data: dict[str, Any]) -> None:
        """Take it."""

    async def delete_route(self, routespec: str) -> None:
        """Forget it."""

    async def get_all_routes(self) -> dict[str, Any]:
        """Return none."""
        return {}


class HubInProcess:
    """A running hub."""

    def __init__(self, app: JupyterHub, port: int, folder: Path) -> None:
        self.app = app
        # Its state_dir.
        self.folder = folder
        self.operator = read_token(folder, OPERATOR)
        self._url = f"http://127.0.0.1:{port}/hub/api"

    @property
    def stops(self) -> list[str]:
        """The sessions that were stopped, "USER/NAME"."""
        return RowSpawner.stops

    def add_user(self, name: str) -> Any:
        """Return a user of the hub, added if new."""
        user = orm.User.find(self.app.db, name)
        if user is None:
            user = orm.User(name=name)
            self.app.db.add(user)
            roles.assign_default_roles(self.app.db, user)
            self.app.db.commit()
        return self.app.users[user.id]

    def add_session(
        self, name: str, server: str = "", *, partition: str = "jupyter", cluster: str = ""
    ) -> Any:
        """Return the spawner of a session that is ready."""
        user = self.add_user(name)
        if server and server not in user.orm_spawners:
            user.db.add(orm.Spawner(name=server, user=user.orm_user))
            user.db.commit()
        spawner = user.spawners[server]
        row = orm.Server(base_url=user.server_url(server), port=1)
        user.db.add(row)
        user.db.flush()
        spawner.server = Server(orm_server=row)
        spawner.session = Session(
            session_id="0123456789abcdef", user=name, partition=partition, cluster=cluster
        )
        user.db.commit()
        assert spawner.ready
        return spawner

    def session_token(self, spawner: Any) -> str:
        """Return the token that the server of a session holds."""
        token = str(spawner.user.new_api_token(note="Server at /"))
        spawner.token_id = orm.APIToken.find(self.app.db, token).id
        return token

    def token(self, name: str, **options: Any) -> str:
        """Return a new token of a user."""
        return str(self.add_user(name).new_api_token(**options))

    async def ask(
        self, method: str, path: str, body: Any = None, *, token: str = ""
    ) -> SimpleNamespace:
        """Send a request; without a token of its own it is the operator's.

        Returns:
            `status`, and `json`, which is None without a body.
        """
        answer = await AsyncHTTPClient().fetch(
            f"{self._url}{path}",
            method=method,
            headers={"Authorization": f"token {token or self.operator}"},
            body=json.dumps(body)
            if body is not None
            else ""
            if method in {"POST", "PUT"}
            else None,
            allow_nonstandard_methods=True,
            raise_error=False,
        )
        return SimpleNamespace(
            status=answer.code, json=json.loads(answer.body) if answer.body else None
        )


@asynccontextmanager
async def hub_in_process(folder: Path) -> AsyncIterator[HubInProcess]:
    """Run a hub with the settings of a small site; its state is in an existing, empty folder.

    It takes a third of a second, so a file of tests should need one.
    """
    path = folder / "portal.toml"
    path.write_text(MINIMAL.replace("[hub]", f'[hub]\nstate_dir = "{folder}"'))
    settings = load_settings(path)
    config = Config()
    apply_settings(config, settings)
    config.JupyterHub.update(
        db_url="sqlite:///:memory:",
        spawner_class=RowSpawner,
        proxy_class=QuietProxy,
        log_level=logging.CRITICAL,
        cookie_secret=b"0" * 32,
    )
    app = JupyterHub(config=config)
    RowSpawner.stops = []
    # Else the hub's handlers of the log stay for the tests behind this one.
    app.init_logging = lambda: None
    await app.initialize([])
    sock, port = bind_unused_port()
    server = HTTPServer(app.tornado_application)
    server.add_socket(sock)
    try:
        yield HubInProcess(app, port, folder)
    finally:
        server.stop()
        await server.close_all_connections()
        app.db.close()
