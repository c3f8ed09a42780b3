"""The demo users as accounts of this machine: nslcd and /etc/nsswitch.conf.

nslcd reads a fixed file. It runs in a mount namespace that has our file there, so that the
machine's own /etc/nslcd.conf stays as it is.
"""

import re
import shutil
import socket
from pathlib import Path

from deploy.common.command import succeeds
from deploy.common.errors import DeployError
from deploy.common.files import (
    ensure_file,
    ensure_folder,
    read_plain,
)
from deploy.one_machine.directory import (
    ADDRESS,
    BASE,
    GROUPS,
    PEOPLE,
    READER,
    reader_password,
)
from deploy.one_machine.layout import (
    MARK,
    STATE_DIR,
    render,
)
from deploy.one_machine.supervisor import ensure_started, pid_of, wait_ready
from deploy.one_machine.users import DEMO_USERS, GROUP_ID

NSSWITCH = Path("/etc/nsswitch.conf")
ORIGINAL_NSSWITCH = STATE_DIR / "originals" / "nsswitch.conf"
NSLCD_DIR = STATE_DIR / "nslcd"
NSLCD_CONF = NSLCD_DIR / "nslcd.conf"
# The C library looks for the socket of nslcd only here.
RUN_DIR = Path("/run/nslcd")
# Tells --purge that the folder is ours to remove.
MADE_HERE = RUN_DIR / ".made-by-deploy-up"
CONNECT_TIMEOUT_S = 2
ACCOUNT = "nslcd"
START_TIMEOUT_S = 20
DATABASES = ("passwd", "group")


def render_nslcd_conf(reader_password: str) -> str:
    """Return nslcd.conf."""
    return render(
        "nslcd.conf",
        ADDRESS=ADDRESS,
        BASE=BASE,
        PEOPLE=PEOPLE,
        GROUPS=GROUPS,
        READER=READER,
        READER_PASSWORD=reader_password,
        GROUP_ID=GROUP_ID,
    )


def with_ldap(nsswitch: str) -> str:
    """Return /etc/nsswitch.conf with "ldap" at the end of the lines for users and groups."""

    def add(found: re.Match[str]) -> str:
        return found[0] if "ldap" in found[1].split() else f"{found[1]} ldap{found[2]}"

    pattern = rf"^((?:{'|'.join(DATABASES)}):[^\n#]*?)([ \t]*(?:#.*)?)$"
    return re.sub(pattern, add, nsswitch, flags=re.MULTILINE)


def without_ldap(nsswitch: str) -> str:
    """Return /etc/nsswitch.conf without "ldap" in the lines for users and groups."""
    pattern = rf"^((?:{'|'.join(DATABASES)}):[^\n#]*?)[ \t]+ldap\b"
    return re.sub(pattern, r"\1", nsswitch, flags=re.MULTILINE)


def is_foreign() -> bool:
    """Return whether an nslcd that deploy/up did not start serves this machine."""
    if pid_of("nslcd") is not None:
        return False
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(CONNECT_TIMEOUT_S)
        try:
            client.connect(str(RUN_DIR / "socket"))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        # Somebody listens, but does not answer in time.
        except (BlockingIOError, TimeoutError):
            return True
    return True


def refuse_foreign_nslcd() -> None:
    """Refuse a machine that gets its accounts from its own nslcd."""
    if is_foreign():
        raise DeployError(
            f"An nslcd that deploy/up did not start listens in {RUN_DIR}: this machine may get "
            "its accounts from it, and two cannot run side by side.",
            next_step="Use another machine, or stop that nslcd if nothing needs it.",
        )


def ensure_name_service() -> str:
    """Start nslcd and add it to the machine's name service."""
    refuse_foreign_nslcd()
    ensure_folder(NSLCD_DIR)
    ensure_folder(ORIGINAL_NSSWITCH.parent)
    conf = render_nslcd_conf(reader_password())
    ensure_file(NSLCD_CONF, conf, mode=0o640, group=ACCOUNT)
    ensure_folder(RUN_DIR, user=ACCOUNT)
    ensure_file(MADE_HERE, f"{MARK}\n")
    started = ensure_started("nslcd", read_at_start=[NSLCD_CONF], NSLCD_CONF=NSLCD_CONF)
    before = NSSWITCH.read_text()
    if has_changed := with_ldap(before) != before:
        # Tells --purge that the words are ours to take back.
        ensure_file(ORIGINAL_NSSWITCH, before)
        ensure_file(NSSWITCH, with_ldap(before))
    wait_ready("nslcd", are_users_known, timeout_s=START_TIMEOUT_S)
    if has_changed:
        return "accounts added"
    return "started" if started else "runs"


def are_users_known() -> bool:
    """Return whether a new process finds all demo users."""
    # Not pwd: this process may have read nsswitch.conf before it changed.
    return succeeds(["getent", "passwd", *(user.name for user in DEMO_USERS)])


def restore_name_service() -> None:
    """Take our words out of /etc/nsswitch.conf; keep what somebody else changed in it since."""
    if ORIGINAL_NSSWITCH.is_file():
        ensure_file(NSSWITCH, without_ldap(NSSWITCH.read_text()))
        ORIGINAL_NSSWITCH.unlink()


def remove_run_folder() -> None:
    """Remove the folder of nslcd's socket if deploy/up made it."""
    if MARK in (read_plain(MADE_HERE) or "") and not is_foreign():
        shutil.rmtree(RUN_DIR)
