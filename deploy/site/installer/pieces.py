"""The pieces of an installation: each can tell how it differs from the host, and fix that."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from deploy.common.accounts import make_account, write_sudoers
from deploy.common.errors import DeployError
from deploy.common.files import ensure_file, ensure_folder, read_plain
from deploy.site.installer.site import MARK

_PRIVATE = 0o600


class Piece(Protocol):
    """One thing to be installed."""

    @property
    def title(self) -> str:
        """Name for people."""

    def difference(self) -> str:
        """Return what would be done, for people; empty if nothing."""

    def apply(self) -> None:
        """Do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The unprivileged account of hub and proxy."""

    name: str
    home: Path

    @property
    def title(self) -> str:
        """Name for people."""
        return f"account {self.name}"

    def difference(self) -> str:
        """Return what would be done; empty if nothing."""
        try:
            account = pwd.getpwnam(self.name)
        except KeyError:
            return "make it, without password and shell"
        # The hub and the proxy would run as root.
        if account.pw_uid == 0:
            raise DeployError(
                f"The account {self.name} is root's.", next_step="Rename or remove it."
            )
        return ""

    def apply(self) -> None:
        """Make the account."""
        make_account(self.name, self.home)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    path: Path

    @property
    def title(self) -> str:
        """Its path."""
        return str(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder(_Placed):
    """A folder with its owner and mode."""

    mode: int = 0o755
    user: str = "root"
    group: str = ""

    def difference(self) -> str:
        """Return what would be done; empty if nothing."""
        wanted = f"{self.user} {stat.filemode(stat.S_IFDIR | self.mode)}"
        if not self.path.is_dir():
            return f"make the folder, {wanted}"
        now = self.path.stat()
        is_right = stat.S_IMODE(now.st_mode) == self.mode and _user_name(now.st_uid) == self.user
        return "" if is_right else f"give it to {wanted}"

    def apply(self) -> None:
        """Create it, or correct its owner and mode."""
        ensure_folder(self.path, mode=self.mode, user=self.user, group=self.group)


@dataclass(frozen=True, slots=True, kw_only=True)
class File(_Placed):
    """A file of the installer's own, or with `is_sites` one that is the site's once it exists.

    An empty `group` is root's. `after` is called after a change.
    """

    text: str
    mode: int = 0o644
    group: str = ""
    is_sites: bool = False
    after: Callable[[], object] | None = None

    def difference(self) -> str:
        """Return what would be done; empty if nothing."""
        there = read_plain(self.path)
        if there is None:
            return "write a first one, which is then yours" if self.is_sites else "write it"
        if self.is_sites or there == self.text:
            return ""
        # Without our mark it belongs to the site or to another program.
        if MARK not in there:
            raise DeployError(
                f"{self.path} is there, and not from this installer.",
                next_step="Move it away if nothing needs it, then install again.",
            )
        return "bring it up to date"

    def apply(self) -> None:
        """Write it."""
        ensure_file(self.path, self.text, mode=self.mode, group=self.group or "root")
        if self.after is not None:
            self.after()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sudoers(File):
    """Rules of sudo, which visudo has to accept."""

    def apply(self) -> None:
        """Write them."""
        write_sudoers(self.path, self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile(_Placed):
    """A log that only root reads, whoever writes it."""

    def difference(self) -> str:
        """Return what would be done; empty if nothing."""
        if not self.path.exists():
            return "make it, for root only"
        return "" if stat.S_IMODE(self.path.stat().st_mode) == _PRIVATE else "keep it for root only"

    def apply(self) -> None:
        """Create it, or make it private; its content stays."""
        # No O_TRUNC: a running service writes to it.
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, _PRIVATE)
        try:
            # The mode given to open() counts only for a new file.
            os.fchmod(file, _PRIVATE)
        finally:
            os.close(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(_Placed):
    """A symbolic link; with `is_kept` an existing one keeps its target."""

    target: str
    is_kept: bool = False

    def difference(self) -> str:
        """Return what would be done; empty if nothing."""
        # Not exists(), which is false for a link to a version that is not built yet.
        if not os.path.lexists(self.path):
            return f"link it to {self.target}"
        if not self.path.is_symlink():
            raise DeployError(
                f"{self.path} is not a link: another installation of the portal is there.",
                next_step="Remove that first. deploy/up's own goes with deploy/down --purge.",
            )
        is_right = self.is_kept or os.readlink(self.path) == self.target
        return "" if is_right else f"link it to {self.target}"

    def apply(self) -> None:
        """Create or replace it atomically."""
        new = self.path.with_name(f".{self.path.name}.new")
        new.unlink(missing_ok=True)
        # A link cannot be changed in place, and sessions may start at any moment.
        new.symlink_to(self.target)
        os.replace(new, self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersGroup:
    """The UNIX group of the portal's users, which has to exist."""

    name: str

    @property
    def title(self) -> str:
        """Name for people."""
        return f"group {self.name} of the users"

    def difference(self) -> str:
        """Return the empty text: the group belongs to the site."""
        try:
            grp.getgrnam(self.name)
        except KeyError as error:
            raise DeployError(
                f"There is no group {self.name} on this host.",
                next_step="Name the UNIX group of the portal's users with --users-group.",
            ) from error
        return ""

    def apply(self) -> None:
        """Do nothing."""


def _user_name(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return str(user_id)
