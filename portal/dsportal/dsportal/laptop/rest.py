"""Requests to the hub's REST API with the user's token. Refusals are the hub's own sentences."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .host import Host, LaptopError

_TIMEOUT_S = 30.0
_DATA = b"data:"


class UnreachableError(LaptopError):
    """The hub gave no answer, as while it restarts: another try may get one."""

    exit_code = 3


@dataclass(frozen=True)
class Portal:
    """A portal, and the token of one of its users."""

    host: Host
    token: str

    def me(self) -> dict[str, Any]:
        """Return the hub's JSON about the user: "name", and "servers" by the session's name."""
        try:
            user = self.ask("GET", "hub/api/user")
            str(user["name"])
        except (KeyError, TypeError) as error:
            raise LaptopError(f"{self.host.url} does not answer as a portal does.") from error
        return dict(user)

    def ask(
        self, method: str, path: str, body: object = None, *, timeout_s: float = _TIMEOUT_S
    ) -> Any:
        """Return the JSON that the hub answers to the JSON `body`; None for an empty answer."""
        try:
            with self._open(method, path, body, timeout_s) as answer:
                text = answer.read()
            return json.loads(text) if text.strip() else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UnreachableError(
                f"{self.host.url} does not answer as a portal does: {error}"
            ) from error

    def events(self, path: str, *, quiet_s: float) -> Iterator[dict[str, Any]]:
        """Yield the events of a stream, until it ends or says nothing for `quiet_s`."""
        try:
            with self._open("GET", path, None, quiet_s) as answer:
                for line in answer:
                    if line.startswith(_DATA):
                        yield json.loads(line[len(_DATA) :])
        except TimeoutError:
            return
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UnreachableError(f"{self.host.url} broke off: {error}") from error

    def _open(
        self, method: str, path: str, body: object, timeout_s: float
    ) -> http.client.HTTPResponse:
        request = urllib.request.Request(  # noqa: S310 - parse_url leaves http and https
            self.host.address(path),
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        # Not sent on to where an answer leads.
        request.add_unredirected_header("Authorization", f"token {self.token}")
        try:
            answer: http.client.HTTPResponse = urllib.request.urlopen(  # noqa: S310
                request, timeout=timeout_s, context=self.host.tls
            )
        except urllib.error.HTTPError as error:
            raise self._refusal(path, error) from error
        except urllib.error.URLError as error:
            raise UnreachableError(f"{self.host.url} does not answer: {error.reason}") from error
        return answer

    def _refusal(self, path: str, error: urllib.error.HTTPError) -> LaptopError:
        if error.code in {401, 403} and path == "hub/api/user":
            return LaptopError(
                "The portal refuses your token: it has expired or was revoked. Make a new one on "
                f"{self.host.address('hub/token')} and run: dsportal login {self.host.url}"
            )
        try:
            text = error.read()
        except (OSError, http.client.HTTPException):
            text = b""
        return refusal(self.host.url, error.code, text)


def refusal(url: str, status: int, text: bytes) -> LaptopError:
    """Return what an answer says that is an error's: its own sentence, if `text` has one."""
    try:
        said = str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        said = ""
    said = said or f"{url} answers {status}. Try again in a minute."
    return UnreachableError(said) if status in {502, 503, 504} else LaptopError(said)
