"""Client of the hub's session API, with the session's own token."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPResponse

from dsportal.slurm.errors import PortalError
from spawner.node.port_report import tls_context

TIMEOUT_S = 20.0
# For what nobody has to wait.
_SHORT_TIMEOUT_S = 3.0
# In which a stream says what the hub knows already.
_AT_ONCE_S = 4.0
# Tornado's own code.
_TIMED_OUT = 599


class HubError(PortalError):
    """The hub refused, or did not answer."""


class HubApi:
    """The hub's API for its own session.

    Args:
        environment: JUPYTERHUB_API_URL, JUPYTERHUB_API_TOKEN and, with internal TLS, the paths
            JUPYTERHUB_SSL_KEYFILE, JUPYTERHUB_SSL_CERTFILE and JUPYTERHUB_SSL_CLIENT_CA.

    Raises:
        HubError: From each method, if the hub refuses or does not answer.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._url = environment.get("JUPYTERHUB_API_URL", "").rstrip("/")
        self._token = environment.get("JUPYTERHUB_API_TOKEN", "")
        self._tls = tls_context(environment)

    async def read_session(self) -> dict[str, Any]:
        """Return what the hub says of the session; see `spawner.hub.session_api`."""
        return await self._ask("GET", "session")

    async def read_place(self, job_id: int) -> str:
        """Return the place in the queue of a job that waits, in words; empty if it is not known."""
        return (await self.read_places([job_id])).get(job_id, "")

    async def read_places(self, job_ids: Sequence[int]) -> dict[int, str]:
        """Return the places in the queue of jobs that wait, in words, as far as they are known."""
        jobs = "&".join(f"job={job_id}" for job_id in job_ids)
        try:
            places = (await self._ask("GET", f"session?{jobs}")).get("places", {})
        except HubError:
            return {}
        return {int(job_id): str(place) for job_id, place in places.items()}

    async def read_elsewhere(self) -> list[dict[str, Any]]:
        """Return the user's jobs on other clusters; see `spawner.hub.jobs_elsewhere`."""
        return list((await self._ask("GET", "session?elsewhere=1")).get("elsewhere", ()))

    async def read_refusal(self) -> str:
        """Return why sessions get nothing more now; empty if they do, or the hub is away."""
        try:
            async with asyncio.timeout(_SHORT_TIMEOUT_S):
                return str((await self.read_session()).get("refusal", ""))
        except (HubError, TimeoutError):
            return ""

    async def extend(self) -> dict[str, Any]:
        """Extend the session.

        Returns:
            The same as `read_session`, with the new end.
        """
        return await self._ask("POST", "extend")

    async def end(self, *, is_idle: bool = False) -> None:
        """End the session, and this server with it; `is_idle` is the reason that its user reads."""
        await self._ask("DELETE", "session?because=idle" if is_idle else "session")

    async def report_visit(self, visitor: str, address: str) -> None:
        """Report that another user, `visitor`, uses this session from `address`."""
        await self._ask("POST", "visit", {"visitor": visitor, "address": address})

    async def report_given_back(self, notebook: str, idle_s: float) -> None:
        """Report that the idle GPUs of a notebook's kernel were given back."""
        await self._ask("POST", "given-back", {"notebook": notebook, "idle_s": round(idle_s)})

    async def report_gpu_use(self, percents: Mapping[int, float]) -> None:
        """Report the average use of the GPUs of jobs so far, 0 to 100."""
        by_job = {str(job_id): percent for job_id, percent in percents.items()}
        await self._ask("POST", "gpu-use", {"percents": by_job})

    async def read_guest(self, name: str) -> dict[str, Any]:
        """Return "may_work", "reads_open" and "documents" of somebody else in this session."""
        return await self._ask("GET", f"guests/{quote(name, safe='')}")

    async def relay(self, path: str) -> tuple[int, bytes]:
        """Return status and text of what the hub answers to a path of its API.

        Of a stream it is what the hub says at once.
        """
        said: list[bytes] = []
        try:
            answer = await self._fetch(
                path, "GET", None, timeout_s=_AT_ONCE_S, streaming_callback=said.append
            )
            return answer.code, b"".join(said)
        except HTTPClientError as error:
            if error.code == _TIMED_OUT and not said:
                raise _refusal(error) from error
            # The text of a refusal, too.
            return (200 if error.code == _TIMED_OUT else error.code), b"".join(said)

    async def _ask(
        self, method: str, name: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        # Tornado's client wants a body with POST, and none with other methods.
        text = json.dumps(dict(body or {})) if method == "POST" else None
        try:
            answer = await self._fetch(f"dsportal/{name}", method, text)
            return dict(json.loads(answer.body or b"{}"))
        except HTTPClientError as error:
            raise _refusal(error) from error
        except ValueError as error:
            raise _no_answer(error) from error

    async def _fetch(
        self,
        path: str,
        method: str,
        body: str | None,
        *,
        timeout_s: float = TIMEOUT_S,
        **options: Any,
    ) -> HTTPResponse:
        if not self._url:
            raise HubError(
                "This notebook server belongs to no hub. Start it from the portal.", http_status=503
            )
        try:
            return await AsyncHTTPClient().fetch(
                f"{self._url}/{path}",
                method=method,
                body=body,
                headers={"Authorization": f"token {self._token}"},
                request_timeout=timeout_s,
                connect_timeout=timeout_s,
                ssl_options=self._tls,
                **options,
            )
        except OSError as error:
            raise _no_answer(error) from error


def _no_answer(error: Exception) -> HubError:
    return HubError(
        f"The hub is not responding ({error}). The session is not affected. Try again in a minute.",
        http_status=503,
    )


def _refusal(error: HTTPClientError) -> HubError:
    try:
        message = json.loads(error.response.body)["message"] if error.response else ""
    except (ValueError, KeyError, TypeError):
        message = ""
    if not message:
        message = _no_answer(error).message
    return HubError(str(message), http_status=error.code if 400 <= error.code < _TIMED_OUT else 503)
