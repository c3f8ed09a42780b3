"""Looks up UNIX accounts in the name service of the hub's host."""

import contextlib
import ctypes
import grp
import os
import pwd
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One UNIX account.

    `name` is as the name service spells it; `groups` has the primary one first and leaves out
    groups without a name.
    """

    name: str
    uid: int
    groups: tuple[str, ...]


def read_account(name: str) -> Account:
    """Return an account. Blocks on the name service, so call it in a thread.

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
    # Not grp.getgrall(): sssd does not list its groups unless told to.
    for gid in os.getgrouplist(account.pw_name, account.pw_gid):
        with contextlib.suppress(KeyError):
            groups.append(grp.getgrgid(gid).gr_name)
    return Account(name=account.pw_name, uid=account.pw_uid, groups=tuple(groups))


def _is_surely_nobody(name: str) -> bool:
    """Return whether the name service answered that there is no such account.

    Source:
        getpwnam_r(3): 0 without a result means "not found"; any other status means that a source of
        the name service, such as nslcd or sssd, did not answer. pwd of Python 3.11 raises KeyError
        for both.
    """
    # Ample: a buffer that is too small fails (ERANGE), which would look like no answer.
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
