"""The user's own environments: where they are, what space they use, what was made for them."""

import os
from pathlib import Path
from typing import Any

from dsportal.packages.installed import size_bytes
from portal.environments.entry import Environment, Kind
from portal.environments.errors import RegistryError
from portal.environments.image import OWN_FOLDER
from portal.environments.record import RECORD, is_locked, read_group
from portal.environments.registry import read_registry, site_path
from portal.environments.sharing import group_name

_BYTES_PER_MIB = 1024 * 1024
# Of an interpreter the folder is not known.
_OF_KNOWN_SIZE = frozenset({Kind.VIRTUALENV, Kind.CONDA, Kind.IMAGE})


def own_environments(home: Path) -> list[dict[str, Any]]:
    """Look at the environments of the user with this home; it takes as long as the disks do.

    Returns:
        JSON of each: "place" has "~" for the home, or modules by name; "size_mib" is null if it is
        not known; "is_gone" says that its folder or file is no longer there, "is_locked" that
        `dsportal environments new` made it, so that it can be updated, and "is_deleted" that its
        files go when it is removed; "group" shares it, or is "".
    """
    found = read_registry(site_path(), home).environments
    return [_look_at(one, home) for one in found if one.is_own]


def _look_at(environment: Environment, home: Path) -> dict[str, Any]:
    path = environment.path
    is_gone = path is not None and not os.path.exists(path)
    return {
        "id": environment.id,
        "name": environment.name,
        "kernel": environment.kernel_name,
        "kind": environment.kind.value,
        "place": _short(path, home) if path else " ".join(environment.modules),
        "size_mib": None if is_gone else size_mib(environment),
        "is_gone": is_gone,
        "is_locked": path is not None and is_locked(path),
        "is_deleted": path in files_made_here(environment, home),
        "group": _group(path) if path else "",
    }


def _short(path: Path, home: Path) -> str:
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _group(folder: Path) -> str:
    try:
        group = read_group(folder) if is_locked(folder) else None
    except RegistryError:
        # Its update says what is wrong.
        return ""
    return "" if group is None else group_name(group)


def size_mib(environment: Environment) -> float | None:
    """Return the space of an environment whose files are there; None if they are not known."""
    path = environment.path
    if path is None or environment.kind not in _OF_KNOWN_SIZE:
        return None
    n_bytes = size_bytes(path) if path.is_dir() else path.stat().st_blocks * 512
    if environment.kernel_packages is not None:
        n_bytes += size_bytes(environment.kernel_packages)
    return n_bytes / _BYTES_PER_MIB


def kernel_folder(environment: Environment, home: Path) -> Path:
    """Return where the ipykernel of an image goes that has none.

    A user's image may lie where the user cannot write; one for everybody is where all nodes see it.
    """
    image, name = environment.path, f"{environment.id}.kernel"
    return home / OWN_FOLDER / name if environment.is_own or not image else image.with_name(name)


def files_made_here(environment: Environment, home: Path) -> tuple[Path, ...]:
    """Return the folders and files that `dsportal environments` made for an environment."""
    folder = environment.path
    if folder is not None and is_locked(folder):
        # One that somebody else has made and shares is only forgotten.
        return (folder,) if folder.stat().st_uid == os.geteuid() else ()
    image = home / OWN_FOLDER / f"{environment.id}.sif"
    is_image = environment.path == image and os.path.exists(image)
    beside = environment.kernel_packages
    # The registry can be edited by hand.
    is_beside = beside is not None and beside == kernel_folder(environment, home)
    return (*((image,) if is_image else ()), *((beside,) if beside and is_beside else ()))


def delete(path: Path) -> None:
    """Delete a file, a link, or a folder with all that is in it."""
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
            return
        # The record goes last: if this is interrupted, it tells whose the rest is.
        for one in sorted(path.iterdir(), key=lambda one: one.name == RECORD):
            delete(one)
        path.rmdir()
    except OSError as error:
        # On NFS a file that a kernel has open keeps its folder.
        raise RegistryError(
            f"{path} cannot be deleted: {error.strerror}. Shut down the kernels that use it, then "
            "remove the environment again."
        ) from error
