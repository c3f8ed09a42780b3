"""Copies the hub's database while the hub runs, and restores a copy."""

import argparse
import contextlib
import os
import shutil
import socket
import sqlite3
import subprocess
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, urlsplit

from dsportal.amounts import count
from portal.confirmation import may_change
from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import load_settings
from portal.site.account import become_hub_account
from spawner.errors import SiteError

# Two weeks of nights.
MOST_COPIES = 14
BUSY_TIMEOUT_S = 30.0
DUMP_TIMEOUT_S = 600.0
# Files of SQLite beside a database that is open, or was when its program was killed.
LOG_ENDINGS = ("-wal", "-shm")


def run_backup(arguments: argparse.Namespace) -> int:
    """Copy the database and print where to; with `restore`, restore a copy."""
    hub = load_settings(arguments.settings).hub
    become_hub_account(hub.state_dir)
    if not arguments.restore:
        if arguments.dry_run:
            raise SiteError("--dry-run belongs to --restore: a backup changes nothing.")
        print(back_up(hub, datetime.now()))
        return 0
    refuse_running_hub(hub)
    what = describe_copy(hub, arguments.restore)
    if may_change(arguments, f"Replace the hub's database by {what}"):
        kept = restore(hub, arguments.restore, datetime.now())
        if kept is not None:
            print(f"copied to {kept}")
        print(f"restored {what}")
    return 0


def refuse_running_hub(hub: HubSettings) -> None:
    """Refuse to change the database or the code of a hub that runs."""
    address = urlsplit(hub.url)
    stop_it = "Stop it, do this again, and start it. Sessions continue."
    # Not whether it answers: one that hangs runs, too.
    with contextlib.suppress(OSError):
        socket.create_connection((address.hostname, address.port), BUSY_TIMEOUT_S).close()
        raise SiteError(f"The hub is running. {stop_it}")
    if not hub.db_url and _is_open(hub.sqlite_path):
        raise SiteError(f"A program has {hub.sqlite_path} open, perhaps the hub. {stop_it}")


def _is_open(path: Path) -> bool:
    """Return whether another process has a database open that has a write-ahead log."""
    if not path.exists():
        return False
    with contextlib.closing(sqlite3.connect(path, timeout=0)) as database:
        try:
            # With a write-ahead log this waits for everybody who has the file open.
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
        # A database that is broken may be what has to be replaced.
        except sqlite3.DatabaseError as error:
            return error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    return False


def describe_copy(hub: HubSettings, copy: Path) -> str:
    """Return a copy of the database with its time and, with SQLite, what is in it."""
    if not copy.is_file():
        raise SiteError(f"There is no copy {copy}. See {hub.state_dir / 'backups'}.")
    made = f"{copy} of {datetime.fromtimestamp(copy.stat().st_mtime):%Y-%m-%d %H:%M}"
    if hub.db_url:
        return made
    try:
        with _read_only(copy) as database:
            (n_users,) = database.execute("SELECT count(*) FROM users").fetchone()
            (n_sessions,) = database.execute(
                "SELECT count(*) FROM spawners WHERE server_id IS NOT NULL"
            ).fetchone()
    except sqlite3.Error as error:
        raise SiteError(f"{copy} is not a copy of the hub's database: {error}.") from error
    return f"{made}, with {count(n_users, 'user')} and {count(n_sessions, 'session')}"


def back_up(hub: HubSettings, now: datetime, *, needed: Path | None = None) -> Path:
    """Copy the hub's database, and delete the oldest of more than `MOST_COPIES`, but not `needed`.

    `now` goes into the copy's name. Only the hub's account can read the copy.
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
        if needed is None or not old.samefile(needed):
            old.unlink()
    return copy


def restore(hub: HubSettings, copy: Path, now: datetime) -> Path | None:
    """Restore a copy that `back_up` made; the hub must not run.

    `now` goes into the name of the copy that is made of the database before.

    Returns:
        That copy; None if there was no database.
    """
    kept: Path | None
    if hub.db_url:
        kept = back_up(hub, now, needed=copy)
        # One transaction: a restore that fails halfway leaves the database as it was.
        argv = ("--clean", "--if-exists", "--exit-on-error", "--single-transaction", "--no-owner")
        try:
            _postgres("pg_restore", *argv, f"--dbname={hub.db_url}", str(copy))
        except OSError as error:
            raise SiteError(f"{copy} could not be restored: {error}.") from error
        return kept
    new = hub.sqlite_path.with_suffix(".new")
    try:
        new.touch(mode=0o600)
        _copy(copy, new)
        kept = _keep(hub, now, needed=copy) if hub.sqlite_path.exists() else None
        # SQLite would write the last changes of a hub that was killed into the copy.
        for ending in LOG_ENDINGS:
            Path(f"{hub.sqlite_path}{ending}").unlink(missing_ok=True)
        os.replace(new, hub.sqlite_path)
    except (sqlite3.Error, OSError) as error:
        new.unlink(missing_ok=True)
        raise SiteError(f"{copy} could not be restored: {error}.") from error
    return kept


def _keep(hub: HubSettings, now: datetime, *, needed: Path) -> Path:
    try:
        return back_up(hub, now, needed=needed)
    # A broken database may hold what somebody can save, and must not stand in the way.
    except SiteError:
        kept = hub.state_dir / "backups" / f"broken-{now:%Y%m%d-%H%M%S-%f}.sqlite"
        for ending in ("", *LOG_ENDINGS):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy2(f"{hub.sqlite_path}{ending}", f"{kept}{ending}")
        return kept


def _read_only(path: Path) -> contextlib.closing[sqlite3.Connection]:
    url = f"file:{quote(str(path))}?mode=ro"
    return contextlib.closing(sqlite3.connect(url, uri=True, timeout=BUSY_TIMEOUT_S))


def _copy(source: Path, copy: Path) -> None:
    with (
        _read_only(source) as database,
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
        raise OSError(f"{program} is missing. Install the package postgresql-client") from error
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{program} did not end in {DUMP_TIMEOUT_S:g} s") from error
    if done.returncode != 0:
        raise OSError(done.stderr.strip() or f"{program} ended with {done.returncode}")
