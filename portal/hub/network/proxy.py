"""JupyterHub's client of the proxy: routes with session certificates, restored to a new proxy."""

import asyncio
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
from jupyterhub.httpclient import fetch
from jupyterhub.proxy import ConfigurableHTTPProxy
from jupyterhub.utils import url_path_join
from traitlets import Unicode, default

LOOK_S = 1.0
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
        return routes

    async def check_routes(self, *arguments: Any, **options: Any) -> None:
        """Compare the proxy's routes with the hub's; the first call starts the watch."""
        # Not earlier: before the first check the hub has not loaded its sessions.
        if self._watch is None:
            self._watch = asyncio.ensure_future(self._watch_starts())
        await super().check_routes(*arguments, **options)

    async def add_route(self, routespec: str, target: str, data: dict[str, Any]) -> None:
        """Add a route; one to a session carries the certificate that its server has to show."""
        certificate = ""
        if "user" in data:
            spawner = self.app.users[data["user"]].spawners[data["server_name"]]
            certificate = getattr(spawner, "certificate", "")
            # A start that a full disk cut off, or a release without internal TLS meanwhile.
            is_lost = target.startswith("https:") or getattr(spawner, "lacks_certificate", False)
            if is_lost and not certificate:
                self.log.error(
                    "No certificate is known for the session of %s; it has to be started again",
                    data["user"],
                )
                return
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
