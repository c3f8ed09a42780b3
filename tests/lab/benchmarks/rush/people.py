"""Users for a rush: in the directory and Slurm's accounting, with homes, and gone after it."""

import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.one_machine import directory
from deploy.one_machine.accounting import ACCOUNT
from deploy.one_machine.layout import PORTAL_TOML
from deploy.one_machine.users import GROUP_ID, HOME_DIR
from portal.hub.settings.loader import load_settings
from portal.site.commands.running_hub import ask_hub
from spawner.errors import SiteError

FIRST_ID = 21_000
_ENTRY = """\
dn: {dn}
objectClass: inetOrgPerson
objectClass: posixAccount
uid: {name}
cn: {name}
sn: {name}
uidNumber: {user_id}
gidNumber: {group_id}
homeDirectory: {home}
loginShell: /bin/bash
userPassword: {hashed}

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A user who logs in and starts a session."""

    name: str
    password: str


@contextlib.contextmanager
def people(n_people: int) -> Iterator[list[Person]]:
    """Make users whom the portal and Slurm know, and remove them at the end."""
    password = secrets.token_urlsafe(12)
    names = [f"rush{number:03}" for number in range(n_people)]
    _remove(names)
    hashed = directory.hash_password(password)
    try:
        entries = (
            _ENTRY.format(
                dn=_dn(name),
                name=name,
                user_id=FIRST_ID + number,
                group_id=GROUP_ID,
                home=HOME_DIR / name,
                hashed=hashed,
            )
            for number, name in enumerate(names)
        )
        _ldap("ldapadd", "".join(entries))
        for number, name in enumerate(names):
            home = HOME_DIR / name
            home.mkdir(mode=0o700)
            os.chown(home, FIRST_ID + number, GROUP_ID)
        _sacctmgr("add", "user", ",".join(names), f"account={ACCOUNT}")
        yield [Person(name=name, password=password) for name in names]
    finally:
        _remove(names)


def _remove(names: list[str]) -> None:
    joined = ",".join(names)
    settings = load_settings(PORTAL_TOML)
    for name in names:
        # Their sessions, too; not all of them may have come.
        with contextlib.suppress(SiteError):
            ask_hub(settings, "DELETE", f"users/{name}", {"force": "yes"}, timeout_s=60)
    subprocess.run(["scancel", "-u", joined], capture_output=True, timeout=60, check=False)
    with contextlib.suppress(subprocess.CalledProcessError):
        _sacctmgr("delete", "user", joined)
    with contextlib.suppress(subprocess.CalledProcessError):
        # -c: continue after those that are not there.
        _ldap("ldapdelete", "".join(f"{_dn(name)}\n" for name in names), "-c")
    for name in names:
        shutil.rmtree(Path(HOME_DIR / name), ignore_errors=True)


def _dn(name: str) -> str:
    return f"uid={name},{directory.PEOPLE}"


def _ldap(program: str, text: str, *words: str) -> None:
    argv = [program, "-Q", *words, "-Y", "EXTERNAL", "-H", directory.SOCKET_ADDRESS]
    subprocess.run(argv, input=text, text=True, check=True, capture_output=True, timeout=60)


def _sacctmgr(*words: str) -> None:
    subprocess.run(["sacctmgr", "-i", *words], check=True, capture_output=True, timeout=60)
