"""What is installed in an overlay, as pip's own records tell."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from portal.packages.overlay import Overlay


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One installed package.

    Attributes:
        name: Its name in the index.
        version: Its version.
        is_requested: Whether the user asked for it; others came because one needed them.
        url: Where it came from, where that was no index; or "".
    """

    name: str
    version: str
    is_requested: bool
    url: str = ""

    @property
    def requirement(self) -> str:
        """What to give pip to have this version again."""
        return f"{self.name} @ {self.url}" if self.url else f"{self.name}=={self.version}"

    @property
    def any_version(self) -> str:
        """What to give pip to have some version again."""
        return f"{self.name} @ {self.url}" if self.url else self.name


def packages_in(overlay: Overlay) -> list[Package]:
    """Return the packages in an overlay, by name.

    Args:
        overlay: One that is there.

    Returns:
        None of the shipped environment's.
    """
    folders = [str(site) for site in overlay.site_packages()]
    found = [_package(one) for one in distributions(path=folders)]
    return sorted(filter(None, found), key=lambda package: package.name.lower())


def size_bytes(folder: Path) -> int:
    """Return the space that a folder takes on its file system.

    Args:
        folder: Links in it are not followed.

    Returns:
        Bytes.
    """
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            # A package may be removed meanwhile.
            try:
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
            except OSError:
                continue
    return total


def _package(found: Distribution) -> Package | None:
    name = found.metadata["Name"]
    if not name:
        # What a broken installation left behind.
        return None
    try:
        origin = json.loads(found.read_text("direct_url.json") or "{}")
    except ValueError:
        origin = {}
    return Package(
        name=name,
        version=found.version,
        is_requested=found.read_text("REQUESTED") is not None,
        url=_url(origin),
    )


def _url(origin: dict[str, object]) -> str:
    """Return what pip takes, from its record of a direct reference.

    Source:
        https://packaging.python.org/en/latest/specifications/direct-url/
    """
    url = str(origin.get("url", ""))
    version_control = origin.get("vcs_info")
    if url and isinstance(version_control, dict):
        return f"{version_control.get('vcs')}+{url}@{version_control.get('commit_id')}"
    return url
