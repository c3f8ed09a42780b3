"""Free space of a user's folders, read as that user so that permissions and quotas are theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spawner.client.launcher_client import LauncherClient
from spawner.errors import SlurmError

# The most that the launcher's program for storage accepts in one request.
MOST_FOLDERS = 8
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


class Storage:
    """Reads the space of users' folders."""

    def __init__(self, launcher: LauncherClient) -> None:
        self._launcher = launcher

    async def read_spaces(self, user: str, folders: Sequence[str]) -> dict[str, Space | None]:
        """Return the space of folders, by path.

        Args:
            user: Account to act as.
            folders: Absolute paths, or "~" for the user's home; 8 at most.

        Returns:
            None for a folder whose server did not answer in a few seconds; one that does not exist
            or that the user may not enter is left out.

        Raises:
            SlurmError: If the launcher could not be run, or is of another release.
        """
        answer = await self._launcher.order(user, {"verb": "storage", "folders": list(folders)})
        said = answer.get("folders")
        if not isinstance(said, dict):
            raise SlurmError(
                "The portal's launcher did not say how full the folders are: it may be of another"
                " release than the hub. Tell the administrators."
            )
        return {
            folder: _parse_said(said.get(folder, {}))
            for folder in folders
            if not said.get(folder, {}).get("is_missing")
        }


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

    Args:
        text: Bytes used and bytes allowed.

    Returns:
        None for any other text, and if the user has no limit.

    Source:
        Our own rule; docs/administrators.md describes it for sites.
    """
    match = _QUOTA.fullmatch(text)
    # quota(1) and its like print 0 for no limit.
    if match is None or int(match[2]) == 0:
        return None
    return Space(total_bytes=int(match[2]), used_bytes=int(match[1]), is_quota=True)


def _parse_said(said: Mapping[str, Any]) -> Space | None:
    return parse_quota(str(said.get("quota", ""))) or parse_statfs(str(said.get("statfs", "")))
