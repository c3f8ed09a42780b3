"""Warnings in terminals that are connected over ssh: the session's end, and an idle session."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsportal.amounts import format_time_left
from portal.server.base.feature import SessionState
from portal.server.base.periodic import PeriodicCall
from portal.server.ssh.connections import SshConnections

# As often as the clock asks the hub shortly before the end.
_EVERY_S = 15.0
_USED = "used"


class Warnings:
    """What to say next, from one look at the session to the next."""

    def __init__(self) -> None:
        self._left_s: int | None = None
        self._is_used = True

    def take(self, seen: Mapping[str, Any]) -> str:
        """Return what terminals are to be told, or nothing.

        Args:
            seen: What `SessionState.describe` returns.
        """
        said = [self._about_the_end(seen["clock"]), self._about_idleness(seen["idle"])]
        return " ".join(filter(None, said))

    def _about_the_end(self, clock: Mapping[str, Any]) -> str:
        before_s, left_s = self._left_s, clock["left_s"]
        self._left_s = left_s
        if before_s is None or left_s is None:
            return ""
        if not any(left_s <= warning_s < before_s for warning_s in clock["warnings_s"]):
            return ""
        return f"This session ends in {format_time_left(left_s)}. Save your work."

    def _about_idleness(self, idle: Mapping[str, Any]) -> str:
        was_used, self._is_used = self._is_used, idle["state"] == _USED
        if self._is_used or not was_used:
            return ""
        left = format_time_left(idle["ends_in_s"] or 0)
        return f"Nobody uses this session: it stops in {left} unless somebody works in it."


def terminal_warnings(connections: SshConnections, session: SessionState) -> PeriodicCall:
    """Return what writes warnings to the terminals of all connections, not started."""
    warnings = Warnings()

    async def look() -> None:
        nonlocal warnings
        # Nobody else needs an answer of the hub for it.
        if not len(connections) or connections.terminals_dir is None:
            warnings = Warnings()
        elif text := warnings.take(await session.describe()):
            write_to_terminals(connections.terminals_dir, text)

    return PeriodicCall(look, _EVERY_S)


def write_to_terminals(folder: Path, text: str) -> None:
    """Write a line to each listed terminal, and forget those whose login has ended."""
    for entry in folder.iterdir():
        # Named after the process of the login.
        if not Path("/proc", entry.name).exists():
            entry.unlink(missing_ok=True)
            continue
        with contextlib.suppress(OSError):
            # Neither a stopped terminal nor one that is full may hold up the session.
            flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK
            descriptor = os.open(entry.read_text(encoding="utf-8"), flags)
            try:
                os.write(descriptor, f"\r\n\a*** {text}\r\n".encode())
            finally:
                os.close(descriptor)
