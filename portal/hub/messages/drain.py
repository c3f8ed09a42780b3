"""The drain: refuses new sessions during maintenance, with a message for users."""

import functools
import json
from pathlib import Path

from dsportal.whole_file import write_whole
from portal.hub.messages.announcements import Announcement, Level
from spawner.errors import SiteError
from spawner.hub.session_mixin import SessionMixin
from spawner.session.spawn_error import StartFailedError

MOST_CHARACTERS = 500
DEFAULT_MESSAGE = "The portal is not accepting new sessions now because of maintenance."
GO_ON = "Running sessions continue."


class Drain:
    """Kept in a file, so that a restart of the hub does not end it.

    Attributes:
        path: In a folder that only the hub writes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._message = self._read()

    @property
    def message(self) -> str:
        """Why no new sessions are accepted; empty while they are."""
        return self._message

    def close(self, message: str) -> None:
        """Refuse new sessions from now on.

        Args:
            message: Why, for users; cut to 500 characters.
        """
        text = message.strip()[:MOST_CHARACTERS] or DEFAULT_MESSAGE
        state = json.dumps({"message": text})
        try:
            # A power loss during the maintenance must not open the portal again.
            write_whole(self.path, state.encode(), survives_power_loss=True)
        except OSError as error:
            raise SiteError(f"{self.path} cannot be written: {error.strerror}.") from error
        # After the file: an error has to leave everything as it was.
        self._message = text

    def open(self) -> None:
        """Accept new sessions again."""
        self.path.unlink(missing_ok=True)
        self._message = ""

    def announcements(self) -> tuple[Announcement, ...]:
        """Return what every page says about the drain; nothing if there is none."""
        if not self._message:
            return ()
        return (Announcement(text=f"{self._message} {GO_ON}", level=Level.WARNING),)

    def refuse(self, _spawner: SessionMixin) -> None:
        """Refuse a start during the drain; the spawner's `pre_spawn_hook`."""
        if self._message:
            raise StartFailedError(SiteError(f"{self._message} Try again when it is over."))

    def _read(self) -> str:
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return ""
        except (OSError, ValueError):
            # The file exists only during a drain, so one that cannot be read is one.
            return DEFAULT_MESSAGE
        return str(kept.get("message", "")) if isinstance(kept, dict) else DEFAULT_MESSAGE


# Every handler and the spawner's hook have to see the same message.
@functools.lru_cache(maxsize=8)
def shared_drain(path: Path) -> Drain:
    """Return the drain kept in a file, the same object for every handler."""
    return Drain(path)
