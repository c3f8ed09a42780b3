"""Copies the hub's database while the hub runs, and restores a copy."""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
import subprocess
from datetime import datetime
from pathlib import Path

from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import load_settings
from portal.site.account import become_hub_account
from spawner.errors import SiteError

# Two weeks of nights.
MOST_COPIES = 14
BUSY_TIMEOUT_S = 30.0
DUMP_TIMEOUT_S = 600.0


def run_backup(arguments: argparse.Namespace) -> int:
    """Copy the database and print where to; with `restore`, restore a copy.

    Args:
        arguments: With `settings` and `restore`, a copy or nothing.

    Returns:
        0.

    Raises:
        SettingsError: If the settings are wrong.
        SiteError: If there is no database, or it cannot be copied.
    """
    hub = load_settings(arguments.settings).hub
    become_hub_account(hub.state_dir)
    if arguments.restore:
        restore(hub, arguments.restore)
    else:
        print(back_up(hub, datetime.now()))
    return 0


def back_up(hub: HubSettings, now: datetime) -> Path:
    """Copy the hub's database, and delete the oldest copies beyond 14.

    `now` goes into the copy's name. Only the hub's account can read the copy.

    Raises:
        SiteError: If there is no database, or it cannot be copied.
    """
    folder, ending = hub.state_dir / "backups", "dump" if hub.db_url else "sqlite"
    # With microseconds: a switch copies the database too, perhaps in the same second.
    copy = folder / f"jupyterhub-{now:%Y%m%d-%H%M%S-%f}.{ending}"
    new = copy.with_suffix(".new")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        # First of all, so that the copy is private from its first byte.
        new.touch(mode=0o600)
        if hub.db_url:
            _postgres("pg_dump", "--format=custom", f"--file={new}", f"--dbname={hub.db_url}")
        else:
            _copy(hub.sqlite_path, new)
        os.replace(new, copy)
    except (sqlite3.Error, OSError) as error:
        new.unlink(missing_ok=True)
        raise SiteError(
            f"The database could not be copied to {folder}: {error}. Check its owner and the free"
            " space on the disk."
        ) from error
    # Names contain the time, so the oldest come first.
    for old in sorted(folder.glob(f"jupyterhub-*.{ending}"))[:-MOST_COPIES]:
        old.unlink()
    return copy


def restore(hub: HubSettings, copy: Path) -> None:
    """Restore a copy that `back_up` made; the hub must not run.

    Raises:
        SiteError: If it is no whole copy; the database is then as it was.
    """
    if not copy.is_file():
        raise SiteError(f"There is no copy {copy}. See {hub.state_dir / 'backups'}.")
    new = hub.sqlite_path.with_suffix(".new")
    try:
        if hub.db_url:
            # One transaction: a restore that fails halfway leaves the database as it was.
            argv = ("--clean", "--if-exists", "--exit-on-error", "--single-transaction")
            _postgres("pg_restore", *argv, "--no-owner", f"--dbname={hub.db_url}", str(copy))
            return
        new.touch(mode=0o600)
        _copy(copy, new)
        # SQLite would write the last changes of a hub that was killed into the copy.
        for ending in ("-wal", "-shm"):
            Path(f"{hub.sqlite_path}{ending}").unlink(missing_ok=True)
        os.replace(new, hub.sqlite_path)
    except (sqlite3.Error, OSError) as error:
        new.unlink(missing_ok=True)
        raise SiteError(f"{copy} could not be restored: {error}.") from error


def _copy(source: Path, copy: Path) -> None:
    with (
        contextlib.closing(
            sqlite3.connect(f"file:{source}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)
        ) as database,
        contextlib.closing(sqlite3.connect(copy)) as target,
    ):
        database.backup(target)
        # A copy is one file, whatever the hub's database is.
        target.execute("PRAGMA journal_mode = DELETE")
        (verdict,) = target.execute("PRAGMA quick_check").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(f"the copy is broken: {verdict}")


def _postgres(program: str, *argv: str) -> None:
    try:
        done = subprocess.run(
            [program, *argv], capture_output=True, text=True, timeout=DUMP_TIMEOUT_S, check=False
        )
    except FileNotFoundError as error:
        raise OSError(f"{program} is missing; install the package postgresql-client") from error
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{program} did not end in {DUMP_TIMEOUT_S:g} s") from error
    if done.returncode != 0:
        raise OSError(done.stderr.strip() or f"{program} ended with {done.returncode}")
