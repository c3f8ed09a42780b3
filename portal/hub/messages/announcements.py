"""Announcements of the site, from a TOML file that is read again whenever it changes."""

import logging
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from enum import Enum
from pathlib import Path
from typing import Any

from spawner.errors import SettingsError
from spawner.settings.schema import closest

# That of the hub, whose lines have a time.
_log = logging.getLogger("JupyterHub")
_KEYS = ("text", "level", "from", "until")
_MOST_CHARACTERS = 1000


class Level(Enum):
    """Severity of an announcement."""

    INFO = "info"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """One announcement.

    Attributes:
        text: Plain text, not HTML.
        begins_at: Hidden before this time; None for at once.
        ends_at: Hidden from this time on; None for never.
    """

    text: str
    level: Level = Level.INFO
    begins_at: datetime | None = None
    ends_at: datetime | None = None

    def is_shown(self, now: datetime) -> bool:
        """Return whether pages show it at `now`, a time with its zone."""
        has_begun = self.begins_at is None or self.begins_at <= now
        return has_begun and (self.ends_at is None or now < self.ends_at)


def load_announcements(path: Path) -> tuple[Announcement, ...]:
    """Return all announcements of a file, in its order.

    Args:
        path: TOML with a table [[announcement]] for each; a missing file has none.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    # A site without announcements needs no file.
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise SettingsError(f"{path} is not TOML: {error}.") from error
    listed = tables.pop("announcement", [])
    if tables or not isinstance(listed, list):
        raise SettingsError(f"{path} may contain only [[announcement]] tables.")
    return tuple(
        _read_announcement(table, f"Announcement {number} of {path}")
        for number, table in enumerate(listed, start=1)
    )


class AnnouncementBoard:
    """Current announcements; keeps the last good ones if the file becomes invalid.

    Args:
        now: Returns the present, with its time zone.
    """

    def __init__(
        self, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path = path
        self._now = now
        self._version: tuple[int, int] | None = None
        self._announcements: tuple[Announcement, ...] = ()

    @property
    def current(self) -> tuple[Announcement, ...]:
        """The announcements to show."""
        self._look()
        now = self._now()
        return tuple(one for one in self._announcements if one.is_shown(now))

    def _look(self) -> None:
        version = _file_version(self._path)
        if version == self._version:
            return
        # Before reading: the error of a wrong file is logged once, not at every look.
        self._version = version
        try:
            self._announcements = load_announcements(self._path)
        except SettingsError as error:
            _log.error("Keeping the previous announcements: %s", error)


def _file_version(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    # The size, too: two edits may fall into one tick of the file system's clock.
    return status.st_mtime_ns, status.st_size


def _read_announcement(table: Mapping[str, Any], where: str) -> Announcement:
    for key in table:
        if key not in _KEYS:
            raise SettingsError(
                f"{where} has the unknown key '{key}'.{closest(key, _KEYS)}"
                f" Valid keys: {', '.join(_KEYS)}."
            )
    text = table.get("text")
    if not isinstance(text, str) or not text.strip() or len(text) > _MOST_CHARACTERS:
        raise SettingsError(f"{where} needs a 'text' of 1 to {_MOST_CHARACTERS} characters.")
    levels = [level.value for level in Level]
    if table.get("level", "info") not in levels:
        raise SettingsError(f"{where} has another 'level' than {', '.join(levels)}.")
    return Announcement(
        text=text.strip(),
        level=Level(table.get("level", "info")),
        begins_at=_read_moment(table.get("from"), f"'from' of {where}"),
        ends_at=_read_moment(table.get("until"), f"'until' of {where}"),
    )


def _read_moment(value: object, where: str) -> datetime | None:
    if value is None:
        return None
    # First: a datetime is also a date. Without a zone it is in this host's.
    if isinstance(value, datetime):
        return value.astimezone()
    if isinstance(value, date):
        return datetime.combine(value, time_of_day()).astimezone()
    raise SettingsError(
        f"{where} must be a time such as 2026-11-20T18:00:00, without quotes, or with a time zone:"
        " 2026-11-20T18:00:00+01:00."
    )
