"""A copy of the hub's database while the hub runs, and the last copies kept."""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
from datetime import datetime
from pathlib import Path

from portal.hub.settings import load_settings
from portal.site.account import become_hub_account
from spawner.errors import SiteError

MOST_COPIES = 14
BUSY_TIMEOUT_S = 30.0


def run_backup(arguments: argparse.Namespace) -> int:
    """Copy the database and print where to.

    Args:
        arguments: With `settings`.

    Returns:
        0.

    Raises:
        SettingsError: If the settings are wrong.
        SiteError: If there is no database, or it cannot be copied.
    """
    state_dir = load_settings(arguments.settings).hub.state_dir
    become_hub_account(state_dir)
    print(back_up(state_dir, datetime.now()))
    return 0


def back_up(state_dir: Path, now: datetime) -> Path:
    """Copy the hub's database, and take away the oldest copies beyond 14.

    Args:
        state_dir: The hub's folder.
        now: The copy's name.

    Returns:
        The copy, whole and readable by the hub's account only.

    Raises:
        SiteError: If there is no database, or it cannot be copied.
    """
    source = state_dir / "jupyterhub.sqlite"
    folder = state_dir / "backups"
    copy = folder / f"jupyterhub-{now:%Y%m%d-%H%M%S}.sqlite"
    new = copy.with_suffix(".new")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        new.touch(mode=0o600)
        _copy(source, new)
        os.replace(new, copy)
    except (sqlite3.Error, OSError) as error:
        new.unlink(missing_ok=True)
        raise SiteError(
            f"{source} could not be copied to {folder}: {error}. Look at its owner and at the"
            " space of the disk."
        ) from error
    for old in sorted(folder.glob("jupyterhub-*.sqlite"))[:-MOST_COPIES]:
        old.unlink()
    return copy


def _copy(source: Path, copy: Path) -> None:
    with (
        contextlib.closing(
            sqlite3.connect(f"file:{source}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)
        ) as database,
        contextlib.closing(sqlite3.connect(copy)) as target,
    ):
        database.backup(target)
        (verdict,) = target.execute("PRAGMA quick_check").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(f"the copy is broken: {verdict}")
