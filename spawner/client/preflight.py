"""Checks of home and shared storage before a session's job is queued."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dsportal.diagnosis.messages import Diagnosis, quote
from spawner.errors import PreflightError

# "shared:scratch" is the check of the storage "scratch".
_SHARED = "shared:"
_ADMINISTRATORS = "Tell the administrators."
_MAKE_HOME = "Ask the administrators to make it."
_RESCUE = "Clean up: delete what you do not need, from a rescue session or on another computer."
_FEW_MINUTES = "Try again in a few minutes. If that does not help, tell the administrators."


class OnFailure(Enum):
    """Consequence of a fault: none, a warning, or no session."""

    OFF = "off"
    WARN = "warn"
    REFUSE = "refuse"


@dataclass(frozen=True, kw_only=True)
class SharedStorage:
    """A file system of the site that users share.

    Attributes:
        name: Its name in users' homes.
        path: Where it is mounted.
        weight: Consequence if it is missing or does not answer.
        is_mount: Whether `path` has to be the root of a mount.
    """

    name: str
    path: str
    weight: OnFailure = OnFailure.WARN
    is_mount: bool = False

    @property
    def check_name(self) -> str:
        """Key of its check: "shared:" and the name."""
        return f"{_SHARED}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """The checks of a site.

    Attributes:
        home: Consequence if the home folder is full, missing, not writable or does not answer.
        server: Consequence if the program of the notebook server cannot be run.
        server_path: Program of the notebook server; empty for no check.
        min_free_mib: Free space that the home folder needs, in MiB.
        timeout_s: Seconds after which storage counts as not answering.
    """

    home: OnFailure = OnFailure.REFUSE
    shared: tuple[SharedStorage, ...] = ()
    server: OnFailure = OnFailure.WARN
    server_path: str = ""
    min_free_mib: int = 16
    timeout_s: float = 3.0

    def request(self, *, is_rescue: bool = False) -> dict[str, Any]:
        """Return the checks in the launcher's format.

        Returns:
            Checks by name and "timeout_s"; empty if all are off.
        """
        checks: dict[str, Any] = {}
        if self.home is not OnFailure.OFF:
            checks["home"] = {"min_free_mib": self.min_free_mib, "may_be_full": is_rescue}
        for storage in self.shared:
            if storage.weight is not OnFailure.OFF:
                what = {"path": storage.path, "is_mount": storage.is_mount}
                checks[storage.check_name] = what
        if self.server is not OnFailure.OFF and self.server_path:
            checks["server"] = {"path": self.server_path}
        return checks | {"timeout_s": self.timeout_s} if checks else {}

    def request_json(self, *, is_rescue: bool = False) -> dict[str, Any]:
        """Return the part of a submit request that has the launcher check storage first.

        Returns:
            "checks", and "refuse" with the names of those whose fault prevents the submission;
            empty if all are off.
        """
        checks = self.request(is_rescue=is_rescue)
        refuse = [name for name in checks if name != "timeout_s" and self.refuses(name)]
        return {"checks": checks, "refuse": refuse} if checks else {}

    def refuses(self, name: str) -> bool:
        """Return whether a fault of the check `name` prevents sessions, not only warns."""
        weights = {"home": self.home, "server": self.server}
        weights |= {storage.check_name: storage.weight for storage in self.shared}
        return weights[name] is OnFailure.REFUSE

    def assess(self, found: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Return warnings about what the checks found, each a sentence with a next step."""
        warnings = []
        for name, what in found.items():
            fault = str(what.get("fault", ""))
            if not fault:
                continue
            text = str(self.explain(name, what))
            if self.refuses(name):
                # The other faults would stop a rescue session, too.
                raise PreflightError(text, needs_rescue=fault == "full")
            warnings.append(text)
        return warnings

    def explain(self, name: str, found: Mapping[str, Any]) -> Diagnosis:
        """Return sentence and cure for the fault in `found`, the result of the check `name`."""
        whats = {
            "home": "Your home folder",
            "server": f"The notebook server, {self.server_path},",
        }
        whats |= {one.check_name: f"The shared storage, {one.path}," for one in self.shared}
        what = whats[name]
        says = f" ({quote(str(found['detail']))})" if found.get("detail") else ""
        room = f": {found['free_mib']} MiB are free in it" if "free_mib" in found else says
        fault = str(found["fault"])
        if fault == "missing" and name == "home":
            sentence, cure = f", {found.get('path', '')}, does not exist", _MAKE_HOME
            return Diagnosis(sentence=f"{what}{sentence}.", next_step=cure)
        sentence, cure = {
            "full": (f"is full{room}", _RESCUE),
            "unwritable": (f"cannot be written{says}", _ADMINISTRATORS),
            "missing": ("is not there", _ADMINISTRATORS),
            "unmounted": ("is not mounted", _ADMINISTRATORS),
            "unreadable": (f"cannot be read{says}", _ADMINISTRATORS),
            "no-answer": (f"did not answer within {self.timeout_s:g} s", _FEW_MINUTES),
        }.get(fault, (f"could not be checked: the check itself failed{says}", _ADMINISTRATORS))
        return Diagnosis(sentence=f"{what} {sentence}.", next_step=cure)
