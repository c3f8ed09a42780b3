"""Models that programs download: where they keep them, and those that the site has already.

Such a file may run code when it is loaded. A user's programs therefore load only what the user has
downloaded, or what nobody but the owner of the site's folder can have put there.
"""

import os
import shutil
import stat
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from dsportal.slurm.errors import PortalError
from spawner.root_owned import open_to_others


@dataclass(frozen=True, slots=True)
class Library:
    """One that downloads models.

    Attributes:
        variable: Names its folder.
        usual: Its folder in the home, if the variable is not set.
        shared: Folders in it that hold models, and neither tokens nor settings.
    """

    variable: str
    usual: str
    shared: tuple[str, ...]


# By the name of its folder in the site's cache and in the user's.
# Source: huggingface_hub 1, torch 2.13 (torch.hub), keras 3.15.
LIBRARIES = {
    "huggingface": Library("HF_HOME", ".cache/huggingface", ("hub",)),
    "torch": Library("TORCH_HOME", ".cache/torch", ("hub",)),
    "keras": Library("KERAS_HOME", ".keras", ("models", "datasets")),
}
# Hugging Face writes the newest revision of a model into these, so the user has a copy.
_COPIED = "refs"


def choose_cache(folder: Path, environ: MutableMapping[str, str]) -> None:
    """Have programs keep models in a folder of this user's own, and make it.

    Variables that the site's prologue or the user has set stay.

    Raises:
        PortalError: If others could change what is in the folder.
        OSError: If it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if open_path := open_to_others(folder, owner_uid=os.getuid()):
        raise PortalError(
            f"Models stay in the home: {open_path} belongs to another user, or others may write to"
            f" it. Correct that, or cache in [storage], which is {folder} here."
        )
    for name, library in LIBRARIES.items():
        environ.setdefault(library.variable, str(folder / name))


def link_models(site: Path, home: Path, environ: MutableMapping[str, str]) -> None:
    """Put a link to each file of the site's into the user's folders, unless something is there.

    The folders are the user's, so programs can add to them.

    Raises:
        PortalError: If others than its owner can change the site's folder.
        OSError: If there is no such folder, or no room for links.
    """
    owner_uid = site.stat().st_uid
    if open_path := open_to_others(site, owner_uid=owner_uid):
        raise PortalError(
            f"Models of the site are left out: others than the owner of {site} can change"
            f" {open_path}. Take that right away."
        )
    for name, library in LIBRARIES.items():
        own = Path(environ.get(library.variable) or home / library.usual)
        for shared in library.shared:
            source = site / name / shared
            if not (_is_safe(source.parent, owner_uid) and _is_safe(source, owner_uid)):
                continue
            for path in _files(source, owner_uid):
                _offer(path, own / shared / path.relative_to(source))


def _offer(path: Path, own: Path) -> None:
    if os.path.lexists(own):
        return
    own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _COPIED in own.parts:
        shutil.copyfile(path, own)
    else:
        own.symlink_to(path)


def _files(folder: Path, owner_uid: int) -> Iterator[Path]:
    """Yield the files below `folder` that nobody but the owner can change."""
    for place, folders, names in os.walk(folder):
        here = Path(place)
        # Locks and the like begin with a dot.
        folders[:] = [one for one in folders if one[0] != "." and _is_safe(here / one, owner_uid)]
        yield from (here / one for one in names if _is_safe(here / one, owner_uid))


def _is_safe(path: Path, owner_uid: int) -> bool:
    try:
        status = path.stat()
    except OSError:
        # A download that the site's owner has broken off.
        return False
    return status.st_uid == owner_uid and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
