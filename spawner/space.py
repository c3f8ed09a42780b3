"""Size and use of a folder, as stat(1) and a site's quota program print them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_STATFS = re.compile(r"\s*([0-9]+) ([0-9]+) ([0-9]+) ([0-9]+)\s*")
_QUOTA = re.compile(r"\s*([0-9]+)\s+([0-9]+)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Size and use of one folder.

    Attributes:
        total_bytes: The user's quota, or the size of the file system if no quota is known.
        used_bytes: Used by the user if it is a quota, else by everybody.
        is_quota: Whether it is the user's own limit.
    """

    total_bytes: int
    used_bytes: int
    is_quota: bool = False

    @property
    def free_bytes(self) -> int:
        """Bytes that are left, 0 or more."""
        return max(0, self.total_bytes - self.used_bytes)

    @property
    def used_percent(self) -> float:
        """Share that is used, in percent; 0 if the size is 0."""
        return 100.0 * self.used_bytes / self.total_bytes if self.total_bytes else 0.0


def choose_space(said: Mapping[str, Any]) -> Space | None:
    """Return the space of a folder: its quota, or else that of its file system.

    Args:
        said: What the launcher's program said of it: "quota" and "statfs".

    Returns:
        None if neither is known.
    """
    return parse_quota(str(said.get("quota", ""))) or parse_statfs(str(said.get("statfs", "")))


def parse_statfs(text: str) -> Space | None:
    """Return the space of a file system, without what only root may fill.

    Args:
        text: Block size in bytes, total blocks, free blocks and blocks free to users, as
            `stat --file-system --format="%S %b %f %a"` prints them.

    Returns:
        None for any other text.

    Source:
        stat(1), coreutils 8.32 to 9.7. The same rule as df(1).
    """
    match = _STATFS.fullmatch(text)
    if match is None:
        return None
    block, total, free, available = map(int, match.groups())
    used = max(0, total - free)
    # As df does: blocks kept for root count neither as used nor as free.
    return Space(total_bytes=(used + available) * block, used_bytes=used * block)


def parse_quota(text: str) -> Space | None:
    """Return the quota that the site's own program prints.

    Returns:
        None for any other text, and if the user has no limit.

    Source:
        Our own rule; docs/operate/messages.md describes it for sites.
    """
    match = _QUOTA.fullmatch(text)
    # quota(1) and its like print 0 for no limit.
    if match is None or int(match[2]) == 0:
        return None
    return Space(total_bytes=int(match[2]), used_bytes=int(match[1]), is_quota=True)
