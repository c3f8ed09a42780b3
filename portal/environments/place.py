"""What kind of environment a path is, for `dsportal environments add PATH`."""

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.environments.entry import Kind
from portal.environments.errors import RegistryError
from portal.environments.locked_commands import variables_like
from portal.environments.record import is_locked, read_like


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An environment that is somewhere.

    Attributes:
        id: A short name made of the path's last part.
        path: Absolute.
    """

    id: str
    kind: Kind
    path: Path


def find_place(text: str) -> Place:
    """Look at a path and tell what is there."""
    if "/" not in text:
        raise RegistryError(
            f"Say where {text!r:.60} is: dsportal environments add PATH, or {text} with one of "
            f"{', '.join(f'--{kind.value}' for kind in Kind)}."
        )
    path = Path(text).expanduser().absolute()
    stem = path.stem if path.suffix in {".sif", ".simg"} else path.name
    id_ = re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).lstrip("._-")
    # First, since a conda environment may hold a pyvenv.cfg, too.
    if os.path.isdir(path / "conda-meta"):
        return Place(id=id_, kind=Kind.CONDA, path=path)
    if os.path.isfile(path / "pyvenv.cfg") or is_locked(path):
        return Place(id=id_, kind=Kind.VIRTUALENV, path=path)
    if os.path.isfile(path):
        return Place(id=id_, kind=Kind.IMAGE, path=path)
    raise RegistryError(
        f"{path} is neither a virtual or conda environment nor an image, or cannot be read. Name "
        "the folder that holds its bin, or an image file."
    )


def variables_of(folder: Path) -> dict[str, Any]:
    """Return the key of the registry for an environment on top of a kernel that is shipped here."""
    # Outside of a session no kernel is known; its packages are found all the same.
    with contextlib.suppress(RegistryError):
        if is_locked(folder):
            return dict(variables_like(read_like(folder)))
    return {}
