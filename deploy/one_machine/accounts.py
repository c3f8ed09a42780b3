"""The account of hub and proxy, and the programs that sudo lets it run as others."""

import contextlib
import pwd
from pathlib import Path

from deploy.common.accounts import ACCOUNT, make_account, render_sudoers, write_sudoers
from deploy.common.command import run, succeeds, wait_until
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
    """Remove the account of the hub and the proxy; where a program runs as it, userdel names it."""
    with contextlib.suppress(KeyError):
        pwd.getpwnam(ACCOUNT)
        remove = ("userdel", ACCOUNT)
        with contextlib.suppress(DeployError):
            wait_until(lambda: succeeds(remove), timeout_s=END_TIMEOUT_S, what="its programs end")
            return
        run(remove)


def ensure_sudoers() -> str:
    """Install the sudo rules after visudo has checked them; return what was done."""
    text = render_sudoers(group=GROUP, slurm_user=SLURM_USER, account=ACCOUNT, mark=MARK)
    if SUDOERS.is_file() and SUDOERS.read_text() == text:
        return "unchanged"
    write_sudoers(SUDOERS, text)
    return "rules installed"
