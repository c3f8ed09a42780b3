"""JupyterHub's client of the proxy: routes with session certificates, restored to a new proxy."""

import asyncio
import gc
from collections.abc import Mapping, Set
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiohttp
from jupyterhub.httpclient import fetch
from jupyterhub.proxy import ConfigurableHTTPProxy
from jupyterhub.user import User
from jupyterhub.utils import url_path_join
from sqlalchemy.exc import SQLAlchemyError
from traitlets import Unicode, default

LOOK_S = 1.0
_ROUNDS_OF_START = 2
# Users of whom a round looks before the hub answers others: some 10 ms.
_STEP = 50
_ANSWER_TIMEOUT_S = 5.0
_REFUSALS = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_RESTART = "Restart the proxy, then the hub: systemctl restart dsportal-proxy dsportal-hub"


class SessionProxy(ConfigurableHTTPProxy):
    """Client of `proxy.mjs`; also works with configurable-http-proxy itself.

    JupyterHub checks the routes every five minutes. Until then a proxy that was restarted alone
    would answer 404 for every session.

    Attributes:
        is_refused: Whether the proxy does not accept the hub's token, so that no session can be
            reached that is not yet.
    """

    token_path = Unicode(help="File that holds the token of proxy and hub.").tag(config=True)

    is_refused = False
    _start = ""
    _watch: asyncio.Task[None] | None = None
    _has_answered = False
    _n_rounds = 0
    # By route: when somebody used it last, as the proxy says, and as the database has it by now.
    _used_at: Mapping[str, str] = MappingProxyType({})
    _noted: dict[str, str]
    # By route, while it is added: JupyterHub hands the name of the user on, and a look for the user
    # by his name is a query.
    _certificates: dict[str, str]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._noted = {}
        self._certificates = {}

    @default("auth_token")
    def _read_token(self) -> str:
        return Path(self.token_path).read_text(encoding="ascii").strip()

    async def api_request(self, *arguments: Any, **options: Any) -> Any:
        """Ask the proxy; with the token as its file has it by now, if the proxy refuses the old.

        Raises:
            ClientResponseError: If the proxy refuses what is asked.
        """
        try:
            answer = await super().api_request(*arguments, **options)
        except aiohttp.ClientResponseError as error:
            if not _is_refusal(error) or not self._take_new_token():
                raise
            answer = await super().api_request(*arguments, **options)
        return answer

    async def get_all_routes(self) -> Any:
        """Return the routes; the hub's start, which asks first, ends with a sentence if none come.

        Raises:
            TimeoutError: If the proxy does not answer.
            ClientError: If it refuses the hub.
            SystemExit: In place of these two at the hub's start.
        """
        try:
            routes = await super().get_all_routes()
        except (TimeoutError, aiohttp.ClientError) as error:
            if self._has_answered:
                raise
            self.log.critical(
                "The proxy %s at %s. %s",
                "refuses the hub's token" if _is_refusal(error) else "does not answer",
                self.api_url,
                _RESTART,
            )
            self.app.exit(1)
        self._has_answered = True
        # Else JupyterHub looks each user up in the database, and answers nobody meanwhile.
        self._used_at = {
            spec: moment
            for spec, route in routes.items()
            if (moment := route["data"].pop("last_activity", ""))
        }
        return routes

    async def check_routes(self, user_dict: Any, service_dict: Any, routes: Any = None) -> None:
        """Compare the proxy's routes with the hub's; the first call starts the watch."""
        # Not earlier: before the first check the hub has not loaded its sessions.
        if self._watch is None:
            self._watch = asyncio.ensure_future(self._watch_starts())
        # What is loaded by now stays, at the second round also what came late. With thousands of
        # sessions, each search for garbage in it would hold everybody up for a third of a second.
        if self._n_rounds < _ROUNDS_OF_START:
            self._n_rounds += 1
            gc.freeze()
        routes = routes or await self.get_all_routes()
        others = {spec: route for spec, route in routes.items() if "user" not in route["data"]}
        await super().check_routes({}, service_dict, others)
        await self._check_sessions(user_dict, routes.keys() - others.keys(), routes)

    async def _check_sessions(self, users: Any, specs: Set[str], routes: Any) -> None:
        """Compare the routes to sessions, and note when the sessions were used.

        As JupyterHub does, but in steps: of 5,000 sessions it would take seconds at once.

        Args:
            users: JupyterHub's users, those with a session loaded.
            specs: Keys of `routes` that lead to sessions.
        """
        loaded = list(users.values())
        by_name = {user.name: user for user in loaded}
        for start in range(0, len(loaded), _STEP):
            for user in loaded[start : start + _STEP]:
                for name, spawner in list(user.spawners.items()):
                    if spawner.ready:
                        await self._check_session(user, name, spawner, routes)
            self._commit()
            await asyncio.sleep(0)
        for spec in specs:
            data = routes[spec]["data"]
            user = by_name.get(data["user"])
            # Looked at only now: a session may have begun meanwhile.
            spawner = user.spawners.get(data["server_name"]) if user else None
            if spawner is None or not (spawner.ready or spawner.pending):
                self.log.warning("Deleting the route %s, which leads to no session", spec)
                await self.delete_route(spec)

    async def _check_session(self, user: User, name: str, spawner: Any, routes: Any) -> None:
        spec = spawner.proxy_spec
        if spec not in routes or routes[spec]["target"] != spawner.server.host:
            self.log.warning("Adding the route %s, which the proxy does not have", spec)
            await self.add_user(user, name)
        used_at = self._used_at.get(spec, "")
        if used_at != self._noted.get(spec, ""):
            self._noted[spec] = used_at
            moment = datetime.fromisoformat(used_at).astimezone(UTC).replace(tzinfo=None)
            for row in (user.orm_user, spawner.orm_spawner):
                if row.last_activity is None or row.last_activity < moment:
                    row.last_activity = moment

    def _commit(self) -> None:
        try:
            self.app.db.commit()
        except SQLAlchemyError:
            self.log.exception("It cannot be kept when sessions were used")
            self.app.db.rollback()

    async def add_user(self, user: User, server_name: str = "") -> None:
        """Add the route to a session; it carries the certificate that its server has to show."""
        spawner = user.spawners[server_name]
        certificate = getattr(spawner, "certificate", "")
        # A start that a full disk cut off, or a release without internal TLS meanwhile.
        is_https = spawner.server.host.startswith("https:")
        is_lost = is_https or getattr(spawner, "lacks_certificate", False)
        if is_lost and not certificate:
            self.log.error(
                "No certificate is known for the session of %s; it has to be started again",
                user.name,
            )
            return
        self._certificates[spawner.proxy_spec] = certificate
        await super().add_user(user, server_name)

    async def add_route(self, routespec: str, target: str, data: dict[str, Any]) -> None:
        """Add a route, with the certificate if `add_user` knew one."""
        certificate = self._certificates.pop(routespec, "")
        proof = {"certificate": certificate} if certificate else {}
        await super().add_route(routespec, target, {**data, **proof})

    async def _watch_starts(self) -> None:
        while True:
            try:
                # Before the routes: a proxy restarted in between shows another start the next time.
                start = await self._read_start()
                if start is None:
                    return
                if start != self._start:
                    await self.restore_routes()
                    self._start = start
                self.is_refused = False
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                if _is_refusal(error):
                    self._note_refusal()
                else:
                    self.log.debug("The proxy does not answer: %s", error)
            # The watch must outlive every failure; without it a new proxy stays empty for minutes.
            except Exception:
                self.log.exception("The routes of the sessions could not be added to the proxy")
            await asyncio.sleep(LOOK_S)

    async def _read_start(self) -> str | None:
        """Return an identity of the proxy's current start; None if the proxy has none."""
        answer = await fetch(
            url_path_join(self.api_url, "api/start"),
            headers={"Authorization": f"token {self.auth_token}"},
            raise_for_status=False,
            timeout=aiohttp.ClientTimeout(total=_ANSWER_TIMEOUT_S),
        )
        # configurable-http-proxy itself has no such route.
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        answer.raise_for_status()
        return str((await answer.json())["start"])

    def _take_new_token(self) -> bool:
        """Use the token that its file has now; return whether that is another one."""
        try:
            token = self._read_token()
        except OSError as error:
            self.log.error("The token of the proxy cannot be read: %s", error)
            return False
        is_new = token != str(self.auth_token)
        self.auth_token: str = token
        return is_new

    def _note_refusal(self) -> None:
        # Once, for the watch asks each second.
        if self._take_new_token() or self.is_refused:
            return
        self.is_refused = True
        self.log.error(
            "The proxy refuses the hub, which therefore cannot open sessions: it was started with"
            " another token. %s",
            _RESTART,
        )


def _is_refusal(error: BaseException) -> bool:
    return isinstance(error, aiohttp.ClientResponseError) and error.status in _REFUSALS
