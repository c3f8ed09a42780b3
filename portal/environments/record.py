"""The record in a locked environment: what it was made on top of, and who shares it."""

import json
import os
from pathlib import Path
from typing import Any

from dsportal.whole_file import write_whole
from portal.environments.errors import RegistryError

RECORD = "dsportal-environment.json"


def is_locked(folder: Path) -> bool:
    """Return whether a folder is an environment that `dsportal environments new` made."""
    # pathlib raises where a folder of the path is closed to its user.
    return os.path.isfile(folder / RECORD)


def read_like(folder: Path) -> str:
    """Return the shipped kernel that a locked environment builds on, or ""."""
    return str(_read_record(folder)["like"])


def read_group(folder: Path) -> int | None:
    """Return the group that a locked environment is shared with, or None."""
    group = _read_record(folder).get("group")
    return group if isinstance(group, int) else None


def _read_record(folder: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_text("utf-8"))
        return {**record, "like": record["like"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RegistryError(
            f"{folder / RECORD} cannot be read. Make the environment again: dsportal environments "
            "remove NAME, then dsportal environments new NAME."
        ) from error


def write_record(folder: Path, like: str, group: int | None) -> None:
    """Write what a locked environment builds on, and the group that shares it."""
    record = {"like": like} | ({} if group is None else {"group": group})
    write_whole(folder / RECORD, f"{json.dumps(record)}\n".encode())
