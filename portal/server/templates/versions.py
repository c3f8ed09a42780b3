"""The record, in the home, of the release of each template that was written there."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from dsportal.whole_file import write_whole

RECORD_PATH = Path(".local/state/data-scientist-portal/templates.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The releases of one template in the home.

    Attributes:
        written: Digest of the release last written under the template's own name, or "".
        beside: Digest of the release last written next to an edited one, or "".
    """

    written: str = ""
    beside: str = ""


def read_releases(home: Path) -> dict[str, Release]:
    """Return the record: releases by path from the home.

    An absent or broken record is empty, so nothing is overwritten.
    """
    try:
        record = json.loads((home / RECORD_PATH).read_text(encoding="utf-8"))
        return {str(name): Release(**release) for name, release in record.items()}
    # Without a record each changed template counts as edited, so the user's files are safe.
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_releases(home: Path, releases: Mapping[str, Release]) -> None:
    """Replace the record atomically."""
    path = home / RECORD_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {name: asdict(release) for name, release in sorted(releases.items())}
    write_whole(path, json.dumps(record, indent=1).encode())
