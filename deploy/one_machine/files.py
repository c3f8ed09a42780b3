"""Files and folders with exactly the content, owner and mode that are wanted."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
from pathlib import Path

from deploy.one_machine.errors import StepError
from deploy.one_machine.layout import MARK, ORIGINALS_DIR


def ensure_folder(path: Path, *, mode: int = 0o755, user: str = "root", group: str = "") -> None:
    """Make a folder where there is none, and set its owner and mode.

    Args:
        path: The folder.
        mode: Its permission bits.
        user: Its owner.
        group: Its group; the owner's own where empty.
    """
    path.mkdir(parents=True, exist_ok=True)
    _own(path, mode, user, group)


def ensure_file(
    path: Path, content: str, *, mode: int = 0o644, user: str = "root", group: str = ""
) -> bool:
    """Write a file where its content differs; it is never seen half written.

    Args:
        path: The file.
        content: Its text.
        mode: Its permission bits.
        user: Its owner.
        group: Its group; the owner's own where empty.

    Returns:
        Whether the content had to be written.
    """
    if path.is_file() and path.read_text() == content:
        _own(path, mode, user, group)
        return False
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(content)
    _own(new, mode, user, group)
    os.replace(new, path)
    return True


def ensure_secret(path: Path, content: str, *, user: str = "root") -> str:
    """Keep a secret that only its owner reads; the first one stays.

    Args:
        path: The file.
        content: The secret for a first run.
        user: Its owner.

    Returns:
        The secret that the file holds.
    """
    if path.is_file() and (kept := path.read_text().strip()):
        _own(path, 0o600, user, "")
        return kept
    ensure_file(path, content + "\n", mode=0o600, user=user)
    return content


def refuse_foreign(path: Path, what: str) -> None:
    """Refuse to replace a file that deploy/up did not write.

    Args:
        path: The file.
        what: What it configures, such as "a Slurm cluster".

    Raises:
        StepError: If the file is there without the mark of deploy/up.
    """
    if path.is_file() and MARK not in path.read_text(errors="replace"):
        raise StepError(
            f"{path} is there already: this machine belongs to {what}. "
            "deploy/up makes a small cluster of its own and leaves others alone.",
            next_step="Use another machine, or move the file away if nothing needs it.",
        )


def keep_original(path: Path) -> None:
    """Remember the content of a file of the system before it is changed for the first time.

    Args:
        path: The file.
    """
    kept = ORIGINALS_DIR / path.name
    if path.is_file() and not kept.exists():
        shutil.copy2(path, kept)


def restore_original(path: Path) -> None:
    """Put back what `keep_original` remembered.

    Args:
        path: The file.
    """
    kept = ORIGINALS_DIR / path.name
    if kept.is_file():
        mode = path.stat() if path.exists() else kept.stat()
        shutil.copyfile(kept, path)
        os.chown(path, mode.st_uid, mode.st_gid)
        path.chmod(mode.st_mode & 0o7777)
        kept.unlink()


def _own(path: Path, mode: int, user: str, group: str) -> None:
    owner = pwd.getpwnam(user)
    group_id = grp.getgrnam(group).gr_gid if group else owner.pw_gid
    now = path.stat()
    if (now.st_uid, now.st_gid) != (owner.pw_uid, group_id):
        os.chown(path, owner.pw_uid, group_id)
    if now.st_mode & 0o7777 != mode:
        path.chmod(mode)
