"""One machine's view of the NFS server: mount.py TREE NUMBER FOLDER MOUNT_POINT.

Each operation is handed to the kernel in user mode that has the NFS mount, with the user id, group
and groups of who asks. NUMBER says which of its mounts, FOLDER which folder of it is shown.
"""

import os
import sys
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

TREE = Path(sys.argv[1])
sys.path[:0] = [str(Path(__file__).parents[3]), f"{TREE}/usr/lib/python3/dist-packages"]
os.environ["FUSE_LIBRARY_PATH"] = f"{TREE}/lib/x86_64-linux-gnu/libfuse.so.2"

import fusepy  # noqa: E402

from tests.lab.foreign.shares import Share, groups_of  # noqa: E402
from tests.lab.nfs.guest_layout import FILES  # noqa: E402

# With two paths.
MOVES = frozenset({"link", "rename"})
# Of this process, not of files.
OWN = frozenset({"init", "destroy"})


class Mount(Share):
    """Operations on a folder of the server."""

    def __init__(self, number: int, folder: str) -> None:
        super().__init__(folder)
        self._number = number
        # One that waits for a server that hangs is used by nobody else.
        self._idle: list[Connection] = []

    def __call__(self, operation: str, path: str, *arguments: Any) -> Any:
        """Have one operation done; wait for as long as the server needs."""
        if operation in OWN:
            return None
        if not hasattr(self, operation):
            raise fusepy.FuseOSError(38)
        user_id, group_id, _ = fusepy.fuse_get_context()
        identity = (user_id, group_id, (0,) if user_id == 0 else groups_of(user_id, group_id))
        if operation in MOVES:
            arguments = (self.exported + arguments[0], *arguments[1:])
        asked = (self._number, identity, operation, self.exported + (path or ""), arguments)
        error, result = self._ask(asked)
        if error:
            raise fusepy.FuseOSError(error)
        return result

    def _ask(self, asked: tuple[Any, ...]) -> tuple[int, Any]:
        connection = self._idle.pop() if self._idle else Client(FILES)
        connection.send(asked)
        answer: tuple[int, Any] = connection.recv()
        self._idle.append(connection)
        return answer


def main(number: int, folder: str, mount_point: str) -> None:
    """Serve until it is unmounted."""
    options = {"allow_other": True, "big_writes": True, "nonempty": True}
    fusepy.FUSE(
        Mount(number, folder), mount_point, foreground=True, fsname=f"nfs:{folder}", **options
    )


if __name__ == "__main__":
    main(int(sys.argv[2]), sys.argv[3], sys.argv[4])
