"""What would keep a session from working, found before its job is queued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from spawner.advice import Diagnosis, quote
from spawner.as_user import Launcher
from spawner.errors import PreflightError

_ADMINISTRATORS = "Tell the administrators."
_RESCUE = "Clean up: delete what you do not need, from a rescue session or on another computer."
_FEW_MINUTES = "Try again in a few minutes; if it goes on, tell the administrators."


class Weight(Enum):
    """What follows from a fault."""

    OFF = "off"
    WARN = "warn"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """The checks of a site.

    Attributes:
        home: What follows where the home folder is full, cannot be written or does not answer.
        shared: The same for the shared storage.
        server: The same for the program of the notebook server.
        shared_path: Where the shared storage is mounted; empty for none.
        shared_is_mount: It has to be the root of a mount.
        server_path: The program of the notebook server.
        min_free_mib: Space that the home folder needs, in MiB.
        timeout_s: Seconds after which storage counts as not answering.
    """

    home: Weight = Weight.REFUSE
    shared: Weight = Weight.WARN
    server: Weight = Weight.WARN
    shared_path: str = ""
    shared_is_mount: bool = False
    server_path: str = ""
    min_free_mib: int = 16
    timeout_s: float = 3.0

    def request(self) -> dict[str, Any]:
        """Return the checks as the launcher takes them; none where all are off."""
        checks: dict[str, Any] = {}
        if self.home is not Weight.OFF:
            checks["home"] = {"min_free_mib": self.min_free_mib}
        if self.shared is not Weight.OFF and self.shared_path:
            checks["shared"] = {"path": self.shared_path, "is_mount": self.shared_is_mount}
        if self.server is not Weight.OFF and self.server_path:
            checks["server"] = {"path": self.server_path}
        return checks

    async def look(self, launcher: Launcher, user: str, *, is_rescue: bool = False) -> list[str]:
        """Do the checks as a user.

        Args:
            launcher: Acts as the user.
            user: As whom.
            is_rescue: The session is there to clean up a home that is full.

        Returns:
            Warnings, a sentence with a next step each.

        Raises:
            PreflightError: If the site refuses sessions for what was found.
            SlurmError: If the launcher could not be run.
        """
        checks = self.request()
        if not checks:
            return []
        checks["timeout_s"] = self.timeout_s
        answer = await launcher.order(user, {"verb": "preflight", "checks": checks})
        warnings = []
        for name, found in answer["checks"].items():
            fault = str(found.get("fault", ""))
            if not fault or (is_rescue and fault == "full"):
                continue
            diagnosis = self.explain(name, found)
            if Weight(getattr(self, name)) is Weight.REFUSE:
                raise PreflightError(str(diagnosis), needs_rescue=fault == "full")
            warnings.append(str(diagnosis))
        return warnings

    def explain(self, name: str, found: Mapping[str, Any]) -> Diagnosis:
        """Return what a fault means.

        Args:
            name: The check.
            found: What it found, with "fault".

        Returns:
            A sentence and its cure.
        """
        what = {
            "home": "Your home folder",
            "shared": f"The shared storage, {self.shared_path},",
            "server": f"The notebook server, {self.server_path},",
        }[name]
        says = f" ({quote(str(found['detail']))})" if found.get("detail") else ""
        sentence, cure = {
            "full": (f"is full: {found.get('free_mib', 0)} MiB are free in it", _RESCUE),
            "unwritable": (f"cannot be written{says}", _ADMINISTRATORS),
            "missing": ("is not there", _ADMINISTRATORS),
            "unmounted": ("is not mounted", _ADMINISTRATORS),
            "unreadable": (f"cannot be read{says}", _ADMINISTRATORS),
        }.get(found["fault"], (f"did not answer within {self.timeout_s:g} s", _FEW_MINUTES))
        return Diagnosis(sentence=f"{what} {sentence}.", next_step=cure)
