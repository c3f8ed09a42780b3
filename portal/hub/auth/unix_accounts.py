"""UNIX accounts of users, as the name service of the hub's host knows them."""

from __future__ import annotations

import contextlib
import ctypes
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
        OSError: If the name service does not answer.
    """
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        if not _is_surely_nobody(name):
            raise OSError(f"the name service did not answer about {name}") from None
        raise
    groups = []
    for gid in os.getgrouplist(account.pw_name, account.pw_gid):
        with contextlib.suppress(KeyError):
            groups.append(grp.getgrgid(gid).gr_name)
    return Account(name=account.pw_name, uid=account.pw_uid, groups=tuple(groups))


def _is_surely_nobody(name: str) -> bool:
    """Return whether the name service knows that there is no such account.

    Source:
        getpwnam_r(3): 0 and no result mean "not found", and any other return value that a source
        of the name service, such as nslcd or sssd, did not answer. pwd of Python 3.11 raises
        KeyError for both.
    """
    buffer = ctypes.create_string_buffer(1 << 16)
    # Larger than any platform's struct passwd, of which nothing is read.
    entry = ctypes.create_string_buffer(256)
    result = ctypes.c_void_p()
    status = ctypes.CDLL(None).getpwnam_r(
        os.fsencode(name),
        entry,
        buffer,
        ctypes.c_size_t(len(buffer)),
        ctypes.byref(result),
    )
    return status == 0 and not result
