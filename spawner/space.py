"""Size and use of a folder, by its file system and by the site's own quota program."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# After which a folder counts as one that does not answer.
TIMEOUT_S = 2.0
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


def space_checks(folders: Iterable[str]) -> dict[str, Any]:
    """Return what `spawner.programs.storage_checks` is asked about the space of folders."""
    kinds = (f"{kind}:{folder}" for folder in folders for kind in ("space", "quota"))
    return {"timeout_s": TIMEOUT_S, **{name: {"path": name.partition(":")[2]} for name in kinds}}


def fault_of(found: Mapping[str, Any], folder: str) -> str:
    """Return the fault of a folder in `found`, such as "missing"; empty if its space is known."""
    return str(found.get(f"space:{folder}", {}).get("fault", "no-answer"))


def choose_space(found: Mapping[str, Any], folder: str) -> Space | None:
    """Return the space of a folder: its quota, or else that of its file system.

    `found` is what `spawner.programs.storage_checks` answered.

    Returns:
        None if neither is known.
    """
    asked = found.get(f"quota:{folder}", {})
    quota = None if asked.get("fault", "") else parse_quota(str(asked.get("said", "")))
    if quota is not None or fault_of(found, folder):
        return quota
    said = found[f"space:{folder}"]
    return Space(total_bytes=int(said["total_bytes"]), used_bytes=int(said["used_bytes"]))


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
