"""The demo users: who they are, their password and their home folders."""

import os
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from deploy.common.command import run
from deploy.common.errors import DeployError
from deploy.common.files import ensure_file, ensure_secret
from deploy.one_machine.layout import PASSWORD_FILE

GROUP = "dsusers"
GROUP_ID = 20_000
HOME_DIR = Path("/home")
PASSWORD_VARIABLE = "PORTAL_DEMO_PASSWORD"  # noqa: S105 (the name of a variable)
PASSWORD_BYTES = 12
# LDIF and the printed text show one line; a password of blanks looks like none.
PASSWORD_FORM = re.compile(r"[\x21-\x7e]{6,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A demo user."""

    name: str
    user_id: int

    @property
    def home(self) -> Path:
        """The home folder."""
        return HOME_DIR / self.name


DEMO_USERS = (User(name="ada", user_id=20_001), User(name="grace", user_id=20_002))
# Sees and stops everybody's sessions in the portal, without opening them; nothing more on the
# machine.
DEMO_ADMINISTRATOR = "grace"


def ensure_password() -> str:
    """Return the demo users' password, created at the first call."""
    wanted = os.environ.get(PASSWORD_VARIABLE)
    if wanted is None:
        return ensure_secret(PASSWORD_FILE, secrets.token_urlsafe(PASSWORD_BYTES))
    if not PASSWORD_FORM.fullmatch(wanted):
        raise DeployError(
            f"{PASSWORD_VARIABLE} is not a valid password for the demo users: it needs 6 to 128 "
            "printable ASCII characters without spaces.",
            next_step=f"Set another {PASSWORD_VARIABLE}, or none to have one made.",
        )
    ensure_file(PASSWORD_FILE, wanted + "\n", mode=0o600)
    return wanted


def refuse_local_namesakes() -> None:
    """Refuse a machine that has local accounts with the demo users' names or ids."""
    # Not pwd, which after a first run finds the demo users in LDAP.
    for line in Path("/etc/passwd").read_text().splitlines():
        name, _, rest = line.partition(":")
        user_id = rest.split(":")[1] if rest.count(":") > 1 else ""
        if any(name == user.name or user_id == str(user.user_id) for user in DEMO_USERS):
            raise DeployError(
                f"This machine has an account '{name}' (uid {user_id}) of its own in /etc/passwd; "
                "the demo users need that name and id.",
                next_step="Use a machine without that account.",
            )


def ensure_homes() -> str:
    """Create the home folders that are missing."""
    made = [user.name for user in DEMO_USERS if _ensure_home(user)]
    return f"made for {', '.join(made)}" if made else "unchanged"


def remove_homes() -> None:
    """Remove the home folders of the demo users."""
    for user in DEMO_USERS:
        # A folder of that name with another owner was not made here.
        if user.home.is_dir() and user.home.stat().st_uid == user.user_id:
            shutil.rmtree(user.home)


def _ensure_home(user: User) -> bool:
    if user.home.exists():
        return False
    # Of PAM: as the first login on many clusters does it.
    run(["mkhomedir_helper", user.name, "0077"])
    return True
