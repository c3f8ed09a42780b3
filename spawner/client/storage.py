"""How full the folders of a user are: asked as that user, so that rights and quotas are theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spawner.client.launcher_client import Launcher

# What the program dsportal-storage takes at once.
MOST_FOLDERS = 8
_STATFS = re.compile(r"\s*([0-9]+) ([0-9]+) ([0-9]+) ([0-9]+)\s*")
_QUOTA = re.compile(r"\s*([0-9]+)\s+([0-9]+)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The space of one folder.

    Attributes:
        total_bytes: What the user may fill, or what the file system holds where no quota is known.
        used_bytes: What is taken of it, by the user where it is a quota, else by everybody.
        is_quota: It is the user's own limit.
    """

    total_bytes: int
    used_bytes: int
    is_quota: bool = False

    @property
    def free_bytes(self) -> int:
        """What is left, 0 or more."""
        return max(0, self.total_bytes - self.used_bytes)

    @property
    def used_percent(self) -> float:
        """What is taken, in percent."""
        return 100.0 * self.used_bytes / self.total_bytes if self.total_bytes else 0.0


class Storage:
    """The folders of users.

    Args:
        launcher: Acts as the user.
    """

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher

    async def read_spaces(self, user: str, folders: Sequence[str]) -> dict[str, Space | None]:
        """Return the space of folders.

        Args:
            user: As whom.
            folders: Absolute paths, or "~" for the user's home; 8 at most.

        Returns:
            The space of each, by path. None for a folder that is not
            there or whose server did not answer in a few seconds.

        Raises:
            SlurmError: If the launcher could not be run.
        """
        answer = await self._launcher.order(user, {"verb": "storage", "folders": list(folders)})
        said: Mapping[str, Mapping[str, Any]] = answer["folders"]
        return {folder: _parse_said(said.get(folder, {})) for folder in folders}


def parse_statfs(text: str) -> Space | None:
    """Return the space of a file system.

    Args:
        text: Block size in bytes, blocks in all, blocks free and blocks free to users, as
            `stat --file-system --format="%S %b %f %a"` prints them.

    Returns:
        The space without what only root may fill; None for another text.

    Source:
        stat(1), coreutils 8.32 to 9.7. The same rule as df(1).
    """
    match = _STATFS.fullmatch(text)
    if match is None:
        return None
    block, total, free, available = map(int, match.groups())
    used = max(0, total - free)
    return Space(total_bytes=(used + available) * block, used_bytes=used * block)


def parse_quota(text: str) -> Space | None:
    """Return the quota that the site's own program prints.

    Args:
        text: Bytes used and bytes allowed.

    Returns:
        The space; None for another text, and where nothing limits the user.

    Source:
        Our own rule; docs/administrators.md tells sites of it.
    """
    match = _QUOTA.fullmatch(text)
    if match is None or int(match[2]) == 0:
        return None
    return Space(total_bytes=int(match[2]), used_bytes=int(match[1]), is_quota=True)


def _parse_said(said: Mapping[str, Any]) -> Space | None:
    return parse_quota(str(said.get("quota", ""))) or parse_statfs(str(said.get("statfs", "")))
