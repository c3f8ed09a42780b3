"""The user's sessions, through the REST interfaces of the hub and of the session itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urljoin

from .host import LaptopError
from .rest import Portal, UnreachableError

# The hub answers a start after ten seconds at the latest, once it has asked Slurm.
_START_TIMEOUT_S = 120.0
# It gives Slurm a minute to queue a notebook.
_SESSION_TIMEOUT_S = 90.0
# The hub sends an empty line every 8 s.
_LOST_AFTER_S = 30.0
# What it knows already it sends at once, and marks no end.
_WHY_QUIET_S = 4.0
_N_TRIES = 24
_PAUSE_S = 5.0
# A session that is told to stop has a minute for what it saves.
_N_LOOKS = 120
_LOOK_AGAIN_S = 1.0


class Session:
    """One session of the user, which runs, waits or does not exist.

    Args:
        portal: The portal, with its `host.session` as the session's name.

    Attributes:
        path: That of its pages, without a slash in front.
    """

    def __init__(self, portal: Portal) -> None:
        self.portal = portal
        self.name = portal.host.session
        me = portal.me()
        self.known = self._of(me)
        server = f"servers/{quote(self.name, safe='')}" if self.name else "server"
        user = quote(me["name"], safe="")
        self._path = f"hub/api/users/{user}/{server}"
        self._extension = f"hub/api/dsportal/users/{user}"
        self.path = f"user/{user}"
        if self.name:
            self._extension += f"/servers/{quote(self.name, safe='')}"
            self.path += f"/{quote(self.name, safe='')}"

    def start(self, options: Mapping[str, object]) -> None:
        """Ask for a start with `options` of the form, by their keys; one that waits, waits on."""
        # The hub refuses a start meanwhile, such as after a stop on its page.
        self._wait_while(lambda known: (known or {}).get("pending") == "stop")
        # "user_options" names them, so that none of them is an option of JupyterHub's own.
        self.portal.ask(
            "POST", self._path, {"user_options": dict(options)}, timeout_s=_START_TIMEOUT_S
        )

    def wait(self, show: Callable[[dict[str, Any]], object]) -> str:
        """Wait until it runs, show each event of the hub's, and return its address."""
        n_failures = 0
        while n_failures < _N_TRIES:
            try:
                for event in self._events(_LOST_AFTER_S):
                    n_failures = 0
                    if event.get("failed"):
                        raise LaptopError(said(event))
                    if event.get("ready"):
                        return self._address(event)
                    show(event)
            except UnreachableError:
                # It restarts; the job waits on.
                pass
            n_failures += 1
            time.sleep(_PAUSE_S)
        raise LaptopError(
            f"{self.portal.host.url} has stopped answering. Your session may still wait. Ask "
            "later: dsportal why"
        )

    def why(self) -> dict[str, Any]:
        """Return the hub's latest event about the start."""
        latest: dict[str, Any] | None = None
        for latest in self._events(_WHY_QUIET_S):
            if latest.get("ready"):
                latest = {**latest, "url": self._address(latest)}
                latest["message"] = f"Your session runs: {latest['url']}"
        if latest is None:
            raise LaptopError("The portal says nothing about the start yet. Ask again in a minute.")
        return latest

    def stop(self) -> None:
        """End it, or take it out of the queue, and wait until that is done."""
        self._require()
        self.portal.ask("DELETE", self._path, timeout_s=_START_TIMEOUT_S)
        self.known = self._of(self.portal.me())
        self._wait_while(lambda known: known is not None)

    def extend(self) -> dict[str, Any]:
        """Extend it by the site's step.

        Returns:
            The hub's JSON about its time, with "left_s".
        """
        self._require()
        told: dict[str, Any] = self.portal.ask(
            "POST", f"{self._extension}/extend", timeout_s=_START_TIMEOUT_S
        )
        return told

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return what the session itself answers to the JSON `body` at a `path` below its own."""
        self.address()
        return self.portal.ask(method, f"{self.path}/{path}", body, timeout_s=_SESSION_TIMEOUT_S)

    def address(self) -> str:
        """Return the address of one that runs."""
        known = self._require()
        if not known.get("ready"):
            raise LaptopError("Your session does not run yet. Ask: dsportal why")
        return self._address(known)

    def _wait_while(self, is_so: Callable[[dict[str, Any] | None], bool]) -> None:
        for _ in range(_N_LOOKS):
            if not is_so(self.known):
                return
            time.sleep(_LOOK_AGAIN_S)
            self.known = self._of(self.portal.me())
        raise LaptopError("Your session is still stopping. Try again in a minute.")

    def _of(self, me: Mapping[str, Any]) -> dict[str, Any] | None:
        known: dict[str, Any] | None = me.get("servers", {}).get(self.name)
        return known

    def _require(self) -> dict[str, Any]:
        if self.known is None:
            name = f"session {self.name}" if self.name else "session"
            raise LaptopError(
                f"Your {name} does not run. Start it: dsportal start (on your own machine), or on "
                "the portal's page"
            )
        return self.known

    def _events(self, quiet_s: float) -> Iterator[dict[str, Any]]:
        return self.portal.events(f"{self._path}/progress", quiet_s=quiet_s)

    def _address(self, model: Mapping[str, Any]) -> str:
        return urljoin(f"{self.portal.host.url}/", str(model["url"]))


def list_sessions(portal: Portal) -> list[dict[str, Any]]:
    """Return "name", "state", "options" and "url" of each session that runs or waits."""
    return [
        {
            "name": name,
            "state": _state(one),
            "options": one.get("user_options") or {},
            "url": urljoin(f"{portal.host.url}/", str(one["url"])),
        }
        for name, one in sorted(portal.me().get("servers", {}).items())
    ]


def _state(server: Mapping[str, Any]) -> str:
    pending = {"spawn": "waits", "stop": "stops"}.get(server.get("pending") or "")
    return pending or ("runs" if server.get("ready") else "does not run")


def said(event: Mapping[str, Any]) -> str:
    """Return what an event of the hub's says, with its facts, in the time zone of this machine."""
    facts = []
    for fact in event.get("facts", []):
        text = fact["text"]
        for number, at in enumerate(fact["times"]):
            text = text.replace(f"{{{number}}}", time.strftime("%d %b %H:%M", time.localtime(at)))
        facts.append(f"{fact['name']}: {text}")
    # JupyterHub's own, before a sentence that is complete without it.
    message = str(event["message"]).removeprefix("Spawn failed: ")
    return f"{message} ({', '.join(facts)})" if facts else message
