"""Lists the packages in an overlay from pip's own records."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from dsportal.packages.overlay import Overlay


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An installed package.

    Attributes:
        is_requested: Whether the user requested it, or it is only a dependency.
        url: Its origin if that was no index, else "".
    """

    name: str
    version: str
    is_requested: bool
    url: str = ""

    @property
    def requirement(self) -> str:
        """Argument of pip that installs this version again."""
        return f"{self.name} @ {self.url}" if self.url else f"{self.name}=={self.version}"

    @property
    def any_version(self) -> str:
        """Argument of pip that installs any version of it."""
        return f"{self.name} @ {self.url}" if self.url else self.name


def packages_in(overlay: Overlay) -> list[Package]:
    """Return the packages in an overlay, by name, without those of the shipped environment."""
    folders = [str(site) for site in overlay.site_packages()]
    found = [_package(one) for one in distributions(path=folders)]
    return sorted(filter(None, found), key=lambda package: package.name.lower())


def package_named_in(overlay: Overlay, words: str) -> Package | None:
    """Return the package whose file is the last that a traceback or an error message names."""
    for site in overlay.site_packages():
        for name in reversed(re.findall(rf"{re.escape(str(site))}/([^\s\"',)]+)", words)):
            for found in distributions(path=[str(site)]):
                # A line of RECORD is a path below site-packages, a comma, and its checksum.
                if f"\n{name}," in f"\n{found.read_text('RECORD') or ''}":
                    return _package(found)
    return None


def size_bytes(folder: Path) -> int:
    """Return the disk space of a folder; links are not followed."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            # A package may be removed meanwhile.
            try:
                # st_blocks counts 512 bytes each, whatever the file system's block size.
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
            except OSError:
                continue
    return total


def _package(found: Distribution) -> Package | None:
    name = found.metadata["Name"]
    if not name:
        # Left behind by a broken installation.
        return None
    try:
        origin = json.loads(found.read_text("direct_url.json") or "{}")
    except ValueError:
        origin = {}
    return Package(
        name=name,
        version=found.version,
        # pip writes this file, empty, for what it was asked for by name.
        is_requested=found.read_text("REQUESTED") is not None,
        url=_url(origin),
    )


def _url(origin: dict[str, object]) -> str:
    """Return pip's argument for the origin in a direct_url.json.

    Source:
        https://packaging.python.org/en/latest/specifications/direct-url/
    """
    url = str(origin.get("url", ""))
    version_control = origin.get("vcs_info")
    if url and isinstance(version_control, dict):
        return f"{version_control.get('vcs')}+{url}@{version_control.get('commit_id')}"
    return url
