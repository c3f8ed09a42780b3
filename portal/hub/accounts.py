"""UNIX accounts of users, as the name service of the hub's host knows them."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One UNIX account.

    Attributes:
        name: Its name, as the name service writes it.
        uid: Its number.
        groups: Names of its groups, the primary one first; a group without a name is left out.
    """

    name: str
    uid: int
    groups: tuple[str, ...]


def read_account(name: str) -> Account:
    """Return an account; waits for the name service, so it is called in a thread.

    Args:
        name: Name of the user.

    Returns:
        The account with its groups.

    Raises:
        KeyError: If there is none.
    """
    account = pwd.getpwnam(name)
    groups = []
    for gid in os.getgrouplist(account.pw_name, account.pw_gid):
        with contextlib.suppress(KeyError):
            groups.append(grp.getgrgid(gid).gr_name)
    return Account(name=account.pw_name, uid=account.pw_uid, groups=tuple(groups))
