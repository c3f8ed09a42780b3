"""Free space of a user's folders, read as that user so that permissions and quotas are theirs."""

from collections.abc import Sequence

from spawner.client.launcher_client import LauncherClient
from spawner.errors import SlurmError
from spawner.space import Space, choose_space, fault_of, space_checks

# Each takes two processes.
MOST_FOLDERS = 8


class Storage:
    """Reads the space of users' folders."""

    def __init__(self, launcher: LauncherClient) -> None:
        self._launcher = launcher

    async def read_spaces(self, user: str, folders: Sequence[str]) -> dict[str, Space | None]:
        """Return the space of folders, by path.

        Args:
            folders: Absolute paths, or "~" for the user's home; 8 at most.

        Returns:
            None for a folder whose server did not answer in a few seconds; one that does not exist
            or that the user may not enter is left out.
        """
        request = {"verb": "storage_checks", "checks": space_checks(folders)}
        found = (await self._launcher.order(user, request)).get("checks")
        if not isinstance(found, dict):
            raise SlurmError(
                "The portal's launcher did not say how full the folders are: it may be of another"
                " release than the hub. Tell the administrators."
            )
        return {
            folder: choose_space(found, folder)
            for folder in folders
            if fault_of(found, folder) != "missing"
        }
