"""The account of hub and proxy, and the programs that sudo lets it run as others."""

from __future__ import annotations

import contextlib
import pwd
from pathlib import Path

from deploy.common.accounts import ACCOUNT, make_account, render_sudoers, write_sudoers
from deploy.common.command import run, wait_until
from deploy.common.errors import DeployError
from deploy.one_machine.layout import HUB_STATE_DIR, MARK
from deploy.one_machine.users import GROUP

SLURM_USER = "slurm"
SUDOERS = Path("/etc/sudoers.d/data-scientist-portal")
END_TIMEOUT_S = 10


def ensure_account() -> str:
    """Create the unprivileged account of the hub and the proxy; return what was done."""
    try:
        pwd.getpwnam(ACCOUNT)
    except KeyError:
        make_account(ACCOUNT, HUB_STATE_DIR)
        return f"{ACCOUNT} made"
    return "unchanged"


def remove_account() -> None:
    """Remove the account of the hub and the proxy."""
    try:
        user_id = pwd.getpwnam(ACCOUNT).pw_uid
    except KeyError:
        return
    try:
        # userdel refuses an account that processes still run as.
        wait_until(
            lambda: not _list_processes(user_id), timeout_s=END_TIMEOUT_S, what="its programs end"
        )
    except DeployError as error:
        pids = ", ".join(_list_processes(user_id))
        raise DeployError(
            f"The account {ACCOUNT} stays: these processes still run as it: {pids}.",
            next_step="End them, then run deploy/down --purge again.",
        ) from error
    run(["userdel", ACCOUNT])


def _list_processes(user_id: int) -> list[str]:
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        # A process can end between the two lines.
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == user_id:
                pids.append(folder.name)
    return pids


def ensure_sudoers() -> str:
    """Install the sudo rules after visudo has checked them; return what was done."""
    text = render_sudoers(group=GROUP, slurm_user=SLURM_USER, account=ACCOUNT, mark=MARK)
    if SUDOERS.is_file() and SUDOERS.read_text() == text:
        return "unchanged"
    write_sudoers(SUDOERS, text)
    return "rules installed"
