"""Free space of a user's folders, read as that user so that permissions and quotas are theirs."""

from collections.abc import Sequence

from spawner.client.launcher_client import LauncherClient
from spawner.space import Space, choose_space, fault_of, space_checks

# Each takes two processes.
MOST_FOLDERS = 8


async def read_spaces(
    launcher: LauncherClient, user: str, folders: Sequence[str]
) -> dict[str, Space | None]:
    """Return the space of a user's folders, by path.

    Args:
        folders: Absolute paths, or "~" for the user's home; 8 at most.

    Returns:
        None for a folder whose server did not answer in a few seconds; one that does not exist
        or that the user may not enter is left out.
    """
    request = {"verb": "storage_checks", "checks": space_checks(folders)}
    found = (await launcher.order(user, request))["checks"]
    return {
        folder: choose_space(found, folder)
        for folder in folders
        if fault_of(found, folder) != "missing"
    }
