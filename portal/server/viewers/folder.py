"""Resolves the folder that is to be shown, and checks that it may be."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsportal.slurm.errors import OptionsError
from portal.server.viewers.viewer import TENSORBOARD, Viewer

_MAX_LOGDIRS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder with training logs, or with runs.

    Attributes:
        name: Path from the root of the file browser, with "/" between folders.
        path: Absolute, with links resolved.
    """

    name: str
    path: Path


def parse_request(body: Any, viewer: Viewer = TENSORBOARD) -> tuple[str, ...]:
    """Return the folders that a request names, without duplicates, in the given order.

    Args:
        body: The posted JSON: `{"logdir": "path"}`, or `{"logdirs": ["path", ...]}` for several
            folders in one page. Paths start at the root of the file browser.

    Source:
        The contract of the REST interface `portal/api/tensorboards`.
    """
    if not isinstance(body, dict) or set(body) not in ({"logdir"}, {"logdirs"}):
        raise OptionsError(
            f"{viewer.title} needs a folder. "
            'Post {"logdir": "path/from/root"}, or {"logdirs": [...]} to compare folders.'
        )
    names = body["logdirs"] if "logdirs" in body else [body["logdir"]]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise OptionsError(
            f"{viewer.title} was asked for a folder that is not text. Give its path."
        )
    if not names:
        raise OptionsError(
            f"{viewer.title} needs a folder. Select one in the file browser first. The "
            "selected folder may have been deleted."
        )
    if len(names) > _MAX_LOGDIRS:
        raise OptionsError(
            f"{viewer.title} was asked for {len(names)} folders, but it compares at most"
            f" {_MAX_LOGDIRS}. Select fewer, or the folder that holds them."
        )
    return tuple(dict.fromkeys(names))


def resolve_folder(
    name: str, *, root: Path, shared: Sequence[Path] = (), viewer: Viewer = TENSORBOARD
) -> Folder:
    """Resolve a path of the file browser to a folder that may be shown.

    Links are followed first, so that the check applies to where the logs really are. This reads the
    file system and takes as long as that does.

    Args:
        name: Path from the root, or an absolute path inside it.
        root: The folder that the file browser shows.
        shared: Folders outside the root that may be shown too, such as the site's shared storage.

    Source:
        realpath(3) for links; a viewer reads all folders below the one it is given.
    """
    shown, title, contents = _shorten(name), viewer.title, viewer.contents
    real_root = Path(os.path.realpath(root))
    relative = _relative_to(root, real_root, name)
    if relative is None:
        raise OptionsError(
            f"{title} was asked for {shown}, which is outside your files. "
            "Choose a folder that the file browser shows."
        )
    if relative == Path():
        raise OptionsError(
            f"{title} was asked for all your files. It would read every folder in them. "
            f"Choose the folder with the {contents}."
        )
    path = _existing_folder(real_root / relative, shown, viewer)
    storage = [Path(os.path.realpath(folder)) for folder in shared]
    if path in storage:
        raise OptionsError(
            f"{title} was asked for {shown}, all of the shared storage. It would read every"
            f" folder in it. Choose the folder with the {contents}."
        )
    if not any(path.is_relative_to(folder) for folder in (real_root, *storage)):
        raise OptionsError(
            f"{title} was asked for {shown}, a link to {path}, which is outside your files"
            f"{' and the shared storage' if shared else ''}. Copy the {contents} to a folder of"
            " yours."
        )
    return Folder(name=relative.as_posix(), path=path)


def _relative_to(root: Path, real_root: Path, name: str) -> Path | None:
    if "\0" in name:
        return None
    # An absolute path may be spelled either way if the root is a link.
    for base in (Path(os.path.normpath(root)), real_root):
        asked = Path(os.path.normpath(base / name))
        if asked.is_relative_to(base):
            return asked.relative_to(base)
    return None


def _existing_folder(asked: Path, shown: str, viewer: Viewer) -> Path:
    title, contents = viewer.title, viewer.contents
    try:
        path = asked.resolve(strict=True)
    except FileNotFoundError:
        raise OptionsError(
            f"{title} was asked for {shown}, which does not exist. "
            f"Refresh the file browser and choose a folder with {contents}."
        ) from None
    except (OSError, RuntimeError, ValueError) as error:
        # A loop of links is a RuntimeError up to Python 3.12, an unpaired surrogate a ValueError.
        reason = error.strerror if isinstance(error, OSError) else "no such path can exist"
        raise OptionsError(
            f"{title} was asked for {shown}, which cannot be opened ({reason}). "
            "Choose another folder."
        ) from error
    if not path.is_dir():
        raise OptionsError(
            f"{title} was asked for {shown}, which is a file. Choose the folder it is in."
        )
    if not os.access(path, os.R_OK | os.X_OK):
        raise OptionsError(
            f"{title} was asked for {shown}, which you may not read. "
            "Ask the owner of the folder for permission."
        )
    return path


def _shorten(name: str) -> str:
    text = name if name.isprintable() else ascii(name)[1:-1]
    return f"“{text}”" if len(text) <= 120 else f"“{text[:117]}…”"
