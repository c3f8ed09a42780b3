"""Checks what neighbours can see of a site, and whether those who left can."""

import contextlib
import stat
from collections.abc import Mapping
from pathlib import Path

from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import Settings
from portal.hub.settings.login import LoginSettings
from portal.site.checks.finding import Finding, ok, problem, warning
from portal.site.checks.runner import in_thread

LOG_DIR = Path("/var/log/data-scientist-portal")
SECRETS = Path("/etc/data-scientist-portal/secrets.env")


async def check_hardening(settings: Settings) -> list[Finding]:
    """Check files and the recheck of accounts."""
    modes = await in_thread(lambda: private_file_modes(settings.hub))
    return [*assess_modes(modes), assess_leaving(settings.login)]


def private_file_modes(hub: HubSettings) -> dict[Path, int]:
    """Return the modes of the hub's private files."""
    paths = [
        hub.state_dir,
        hub.sqlite_path,
        # SQLite keeps pages of the database, tokens' hashes among them, in these files too.
        *(Path(f"{hub.sqlite_path}{end}") for end in ("-wal", "-shm", "-journal")),
        hub.state_dir / "cookie_secret",
        *sorted(hub.state_dir.glob("*-token")),
        LOG_DIR / "hub.log",
        SECRETS,
    ]
    modes = {}
    for path in paths:
        with contextlib.suppress(OSError):
            modes[path] = path.stat().st_mode
    return modes


def assess_modes(modes: Mapping[Path, int]) -> list[Finding]:
    """Return which of the hub's private files others can read or change."""
    found = [
        problem(f"{path} is open to others ({stat.filemode(mode)}).", f"chmod go= {path}")
        for path, mode in modes.items()
        if stat.S_IMODE(mode) & 0o077
    ]
    return found or [ok("log, database, cookie secret and tokens are for their owner only.")]


def assess_leaving(login: LoginSettings) -> Finding:
    """Return whether the hub notices that somebody has left."""
    if login.is_ldap and not login.reader_dn:
        return warning(
            "users who leave LDAP stay signed in until the UNIX account is gone or the cookie"
            " expires, after 14 days.",
            "Set reader_dn in [login], see 'People who leave' in the guide.",
        )
    return ok(f"accounts are checked again every {login.recheck_minutes:g} minutes.")
