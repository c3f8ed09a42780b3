"""The site's shared storage: its mounts on this node, with the folders of this user."""

import grp
import json
import os
import pwd
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path

STORAGE_VARIABLE = "PORTAL_STORAGE"


def read_storage(environ: Mapping[str, str]) -> dict[str, Path]:
    """Return mount points by the names of their links in the home, in the order of the settings.

    They come from PORTAL_STORAGE, a JSON object of paths by name.
    """
    places: dict[str, str] = json.loads(environ.get(STORAGE_VARIABLE) or "{}")
    return {name: Path(path) for name, path in places.items()}


def expand_storage(environ: MutableMapping[str, str]) -> None:
    """Put this user's own folders into PORTAL_STORAGE, for the portal and for cells."""
    places = json.loads(environ.get(STORAGE_VARIABLE) or "{}")
    if any("{" in path for path in places.values()):
        # Asked only where it is needed: a directory may be slow.
        own = fill_in(places, user_name(), _group_names())
        environ[STORAGE_VARIABLE] = json.dumps(own)


def fill_in(places: Mapping[str, str], user: str, groups: Sequence[str]) -> dict[str, str]:
    """Return the folders of a user by name; one of each group for a place with {group}.

    Args:
        places: Paths by name, which may hold {user} and {group}.
    """
    filled: dict[str, str] = {}
    for name, path in places.items():
        path = path.replace("{user}", user)
        if "{group}" in path:
            filled |= {f"{name}-{group}": path.replace("{group}", group) for group in groups}
        else:
            filled[name] = path
    return filled


def user_name() -> str:
    """Return the name of this account."""
    return pwd.getpwuid(os.getuid()).pw_name


def _group_names() -> list[str]:
    names = []
    for number in sorted({os.getgid(), *os.getgroups()}):
        try:
            names.append(grp.getgrgid(number).gr_name)
        except KeyError:
            # A group without a name has no folder.
            continue
    return [name for name in names if "/" not in name]
