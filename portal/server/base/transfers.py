"""Files on their way between a browser and this session."""

import asyncio
import time
from pathlib import Path
from weakref import WeakValueDictionary

# Between two chunks of a slow connection.
_RECENT_S = 120.0


class Transfers:
    """Whether files are on their way: such a session is used."""

    def __init__(self) -> None:
        self._last_s = -_RECENT_S
        self._turns: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()

    def turn(self, part: Path) -> asyncio.Lock:
        """Return what one request for a part at a time holds."""
        return self._turns.setdefault(part, asyncio.Lock())

    def note(self) -> None:
        """Note that a chunk was sent or received."""
        self._last_s = time.monotonic()

    @property
    def is_running(self) -> bool:
        """Whether there was a chunk lately."""
        return time.monotonic() - self._last_s < _RECENT_S
