"""The pieces of an installation: each can tell how it differs from the host, and fix that."""

import grp
import os
import pwd
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deploy.common.accounts import make_account, write_sudoers
from deploy.common.errors import DeployError
from deploy.common.files import ensure_file, ensure_folder, read_plain
from deploy.site.installer.site import MARK

_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing to be installed.

    Attributes:
        title: Name for people.
        difference: Returns what would be done, for people; empty if nothing.
        apply: Does it.
    """

    title: str
    difference: Callable[[], str]
    apply: Callable[[], None]


def account(name: str, home: Path) -> Piece:
    """Return the unprivileged account of hub and proxy."""

    def difference() -> str:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            return "make it, without password and shell"
        # The hub and the proxy would run as root.
        if found.pw_uid == 0:
            raise DeployError(f"The account {name} is root's.", next_step="Rename or remove it.")
        return ""

    return Piece(f"account {name}", difference, lambda: make_account(name, home))


def folder(path: Path, *, mode: int = 0o755, user: str = "root") -> Piece:
    """Return a folder with its owner and mode."""

    def difference() -> str:
        wanted = f"{user} {stat.filemode(stat.S_IFDIR | mode)}"
        if not path.is_dir():
            return f"make the folder, {wanted}"
        now = path.stat()
        is_right = stat.S_IMODE(now.st_mode) == mode and _user_name(now.st_uid) == user
        return "" if is_right else f"give it to {wanted}"

    return Piece(str(path), difference, lambda: ensure_folder(path, mode=mode, user=user))


def file(
    path: Path,
    text: str,
    *,
    mode: int = 0o644,
    is_sites: bool = False,
    after: Callable[[], object] = lambda: None,
) -> Piece:
    """Return a file of the installer's own, or with `is_sites` one that is then the site's.

    `after` is called after a change.
    """

    def difference() -> str:
        there = read_plain(path)
        if there is None:
            return "write a first one, which is then yours" if is_sites else "write it"
        if is_sites or there == text:
            return ""
        # Without our mark it belongs to the site or to another program.
        if MARK not in there:
            raise DeployError(
                f"{path} is there, and not from this installer.",
                next_step="Move it away if nothing needs it, then install again.",
            )
        return "bring it up to date"

    def apply() -> None:
        ensure_file(path, text, mode=mode)
        after()

    return Piece(str(path), difference, apply)


def sudoers(path: Path, text: str) -> Piece:
    """Return rules of sudo, which visudo has to accept."""
    return Piece(str(path), file(path, text).difference, lambda: write_sudoers(path, text))


def log_file(path: Path) -> Piece:
    """Return a log that only root reads, whoever writes it."""

    def difference() -> str:
        if not path.exists():
            return "make it, for root only"
        return "" if stat.S_IMODE(path.stat().st_mode) == _PRIVATE else "keep it for root only"

    def apply() -> None:
        # No O_TRUNC: a running service writes to it.
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, _PRIVATE)
        try:
            # The mode given to open() counts only for a new file.
            os.fchmod(log, _PRIVATE)
        finally:
            os.close(log)

    return Piece(str(path), difference, apply)


def link(path: Path, target: str, *, is_kept: bool = False) -> Piece:
    """Return a symbolic link; with `is_kept` an existing one keeps its target."""

    def difference() -> str:
        # Not exists(), which is false for a link to a version that is not built yet.
        if not os.path.lexists(path):
            return f"link it to {target}"
        if not path.is_symlink():
            raise DeployError(
                f"{path} is not a link: another installation of the portal is there.",
                next_step="Remove that first. deploy/up's own goes with deploy/down --purge.",
            )
        is_right = is_kept or os.readlink(path) == target
        return "" if is_right else f"link it to {target}"

    def apply() -> None:
        new = path.with_name(f".{path.name}.new")
        new.unlink(missing_ok=True)
        # A link cannot be changed in place, and sessions may start at any moment.
        new.symlink_to(target)
        os.replace(new, path)

    return Piece(str(path), difference, apply)


def users_group(name: str) -> Piece:
    """Return the UNIX group of the portal's users, which belongs to the site and has to exist."""

    def difference() -> str:
        try:
            grp.getgrnam(name)
        except KeyError as error:
            raise DeployError(
                f"There is no group {name} on this host.",
                next_step="Name the UNIX group of the portal's users with --users-group.",
            ) from error
        return ""

    return Piece(f"group {name} of the users", difference, lambda: None)


def _user_name(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return str(user_id)
