"""JupyterHub's client of the proxy: routes with session certificates, restored to a new proxy."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from jupyterhub.httpclient import fetch
from jupyterhub.proxy import ConfigurableHTTPProxy
from jupyterhub.utils import url_path_join

LOOK_S = 1.0
_ANSWER_TIMEOUT_S = 5.0
_NOT_FOUND = 404


class SessionProxy(ConfigurableHTTPProxy):
    """Client of `proxy.mjs`; also works with configurable-http-proxy itself.

    JupyterHub checks the routes every five minutes. Until then a proxy that was restarted alone
    would answer 404 for every session.
    """

    _start = ""
    _watch: asyncio.Task[None] | None = None

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
            if target.startswith("https:") and not certificate:
                # A release without internal TLS was in use meanwhile and did not keep it.
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
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
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
        if answer.status == _NOT_FOUND:
            return None
        answer.raise_for_status()
        return str((await answer.json())["start"])
