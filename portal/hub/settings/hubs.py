"""The table [hubs] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from dataclasses import dataclass
from pathlib import Path

from portal.settings.validators import each_like
from spawner.settings.schema import setting

# One part: the name of a hub stands in a cookie, by which the front end tells the hubs apart.
_check_each = each_like(
    r"/[A-Za-z0-9][A-Za-z0-9_-]*/", 'must look like "/a/": one part of a path, with both slashes.'
)


def check_paths(paths: tuple[str, ...]) -> str:
    """Refuse a single hub, and one that is named twice."""
    if len(set(paths)) != len(paths):
        return "it names a hub twice."
    if len(paths) == 1:
        return "one hub needs no [hubs]; name all of them, or none."
    return _check_each(paths)


@dataclass(frozen=True, kw_only=True)
class HubsSettings:
    """Several hubs that share the users of one portal; the same table in the file of each."""

    paths: tuple[str, ...] = setting(
        'base_url of each hub, such as ["/a/", "/b/"]. Each user has one of them, by a hash of the'
        " name. Whoever logs in at another one is brought there. Empty: this hub is alone.",
        default=(),
        check=check_paths,
    )
    folder: Path = setting(
        "Folder that all these hubs read and write, owned by the hubs' account, mode 0700: moved"
        " users, logins on their way from one hub to another, and Slurm's answers.",
        default=Path("/var/lib/data-scientist-portal/hubs"),
    )
