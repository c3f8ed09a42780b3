"""The commands `dsportal environments share` and `unshare`."""

import argparse
import os
import signal
from pathlib import Path

from portal.confirmation import Commands
from portal.environments.errors import RegistryError
from portal.environments.new_commands import interrupted_by, own_environment, tell_group
from portal.environments.record import is_locked, read_group, read_like, write_record
from portal.environments.sharing import group_id, group_name, share, unshare


def add_share_commands(actions: Commands) -> None:
    """Add the commands to `actions`, the subparsers of `dsportal environments`."""
    sharing = actions.add_parser("share", help="let a group use an environment made by 'new'")
    sharing.add_argument("id", metavar="NAME", help="short name of the environment")
    sharing.add_argument(
        "--with",
        dest="group",
        default="",
        metavar="GROUP",
        help="one of your groups (default: the group of the parent folder)",
    )
    sharing.set_defaults(run=share_environment)
    private = actions.add_parser("unshare", help="stop sharing an environment")
    private.add_argument("id", metavar="NAME", help="short name of the environment")
    private.set_defaults(run=unshare_environment)


def share_environment(arguments: argparse.Namespace) -> int:
    """Let a group use an environment."""
    folder = _folder(arguments.id)
    group = group_id(arguments.group, folder, option="--with")
    before = read_group(folder)
    if before not in {None, group}:
        # Else that group's members would keep what is open to it.
        _change(folder, None)
    _change(folder, group)
    tell_group(folder, group)
    return 0


def unshare_environment(arguments: argparse.Namespace) -> int:
    """Keep an environment for oneself."""
    folder = _folder(arguments.id)
    group = read_group(folder)
    if group is None:
        raise RegistryError(f"{arguments.id} is not shared.")
    _change(folder, None)
    print(
        f"{arguments.id}: the group {group_name(group)} cannot use it any more. What its kernels "
        "have loaded stays loaded until they are restarted."
    )
    return 0


def _folder(id_: str) -> Path:
    folder = own_environment(id_).path
    if folder is None or not is_locked(folder):
        raise RegistryError(
            f"{id_} was not made by 'dsportal environments new', which can be shared. Let the "
            "others read its files, and they add it by its path."
        )
    if folder.stat().st_uid != os.geteuid():
        raise RegistryError(f"{folder} belongs to somebody else, who can share it.")
    return folder


def _change(folder: Path, group: int | None) -> None:
    """Open an environment to a group, or to nobody else."""
    try:
        with interrupted_by(signal.SIGTERM, signal.SIGHUP):
            if group is None:
                # The folder's own mode comes first, so that nobody enters what is half-changed.
                unshare(folder)
                write_record(folder, read_like(folder), None)
            else:
                # First, so that one that is interrupted can be taken back.
                write_record(folder, read_like(folder), group)
                share(folder, group)
    except OSError as error:
        raise RegistryError(
            f"{error.filename or folder} cannot be changed: {error.strerror}. Try again."
        ) from error
