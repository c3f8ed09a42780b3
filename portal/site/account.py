"""The account that runs a site's commands: root becomes the hub's account, to see what it sees."""

import os
import pwd
from pathlib import Path

from spawner.errors import SiteError


def become_hub_account(state_dir: Path) -> str:
    """Switch from root to the hub's account, the owner of its state; return its name.

    `state_dir` is the folder of the hub's database.
    """
    try:
        # Its owner is the account that the hub runs as; no setting repeats that.
        account = pwd.getpwuid(state_dir.stat().st_uid)
    except OSError as error:
        raise SiteError(
            f"{state_dir} (state_dir in [hub]) cannot be read: {error.strerror}."
            " deploy/site/install makes it, owned by the hub's account."
        ) from error
    except KeyError as error:
        raise SiteError(
            f"The owner of {state_dir} has no account. Give it to the hub's account."
        ) from error
    if account.pw_uid == 0:
        raise SiteError(f"{state_dir} belongs to root, but the hub must not run as root: chown it.")
    if os.geteuid() == 0:
        _step_down(account)
    if os.geteuid() != account.pw_uid:
        raise SiteError(f"Run this as root, or as the hub's account {account.pw_name}.")
    return account.pw_name


def _step_down(account: pwd.struct_passwd) -> None:
    # In this order: after setuid the process may change neither its groups nor its gid.
    os.initgroups(account.pw_name, account.pw_gid)
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    # The account may not be let into the folder that root was in.
    os.chdir("/")
    # PostgreSQL's library looks for .pgpass in HOME.
    os.environ.update(HOME=account.pw_dir, USER=account.pw_name, LOGNAME=account.pw_name)
