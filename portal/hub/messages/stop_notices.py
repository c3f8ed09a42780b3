"""Messages of administrators to users whose sessions they stopped; the home page shows them."""

import functools
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spawner.json_file import JsonFile

MOST_CHARACTERS = 500
_MOST_PER_USER = 5
_KEPT_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message to one user.

    Attributes:
        text: Plain text, not HTML.
        sent_at: Seconds since 1970 (UTC).
    """

    text: str
    sender: str
    sent_at: float


class Notices:
    """Unread messages of users: the last 5 of each, for 30 days.

    Args:
        path: In a folder that only the hub can write; None keeps them in memory.
        clock: Seconds since 1970 (UTC).
    """

    def __init__(self, path: Path | None, *, clock: Callable[[], float] = time.time) -> None:
        self._file = JsonFile(path)
        self._clock = clock
        self._by_user = {
            user: notices
            for user, saved in self._file.read().items()
            if (notices := _parse_notices(saved))
        }

    def of(self, user: str) -> tuple[Notice, ...]:
        """Return the unread messages of a user, the newest first."""
        newest_first = reversed(self._by_user.get(user, []))
        return tuple(one for one in newest_first if self._clock() - one.sent_at < _KEPT_S)

    def send(self, user: str, text: str, *, sender: str) -> None:
        """Keep a message for a user.

        `text` is plain text, cut to 500 characters.
        """
        notice = Notice(text=text[:MOST_CHARACTERS], sender=sender, sent_at=self._clock())
        self._by_user[user] = [*self._by_user.get(user, []), notice][-_MOST_PER_USER:]
        self._save()

    def clear(self, user: str) -> None:
        """Delete the messages that a user has read."""
        if self._by_user.pop(user, None):
            self._save()

    def close(self) -> None:
        """Wait until everything is written."""
        self._file.close()

    def _save(self) -> None:
        self._file.save(
            {
                user: [asdict(notice) for notice in notices]
                for user, notices in self._by_user.items()
            }
        )


# With one object for each handler, the last to save would lose what the others sent.
@functools.lru_cache(maxsize=8)
def shared_notices(path: Path) -> Notices:
    """Return the messages kept in a file, the same object for every handler."""
    return Notices(path)


def _parse_notices(saved: Any) -> list[Notice]:
    try:
        return [
            Notice(text=str(one["text"]), sender=str(one["sender"]), sent_at=float(one["sent_at"]))
            for one in saved
        ]
    except (TypeError, KeyError, ValueError):
        # A damaged file costs messages, not the start of the hub.
        return []
