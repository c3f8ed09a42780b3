"""REST API `portal/api/storage`: the site's storages as this user finds them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler

from portal.server.authorization import for_the_user
from spawner.client.storage import parse_quota, parse_statfs
from spawner.programs.storage import look, run_probe

_MAY_READ = ("-maxdepth", "0", "-readable", "-executable", "-printf", "yes")


class StorageHandler(APIHandler):
    """The storages that are there and that the user may read, and those that do not answer."""

    auth_resource = "contents"

    def initialize(self, storage: Mapping[str, Path]) -> None:
        """Store the arguments of the route."""
        self._storage = storage

    @for_the_user
    async def get(self) -> None:
        """Return name, path, space in bytes, and whether it answers, of each."""
        asked = (asyncio.to_thread(describe, name, path) for name, path in self._storage.items())
        self.finish({"storages": [one for one in await asyncio.gather(*asked) if one is not None]})


def describe(name: str, path: Path) -> dict[str, Any] | None:
    """Return a storage as JSON has it; None if it is not there or the user may not read it.

    Only child processes touch it: a mount that hangs would take this one with it.
    """
    readable = run_probe(["/usr/bin/find", f"{path}/", *_MAY_READ])
    if readable == "":
        # A folder that may not be read gives no answer either, but at once.
        is_silent = run_probe(["/usr/bin/stat", "--format=%F", "--", f"{path}/"]) == ""
        return {"name": name, "path": str(path), "answers": False} if is_silent else None
    if readable is None:
        return None
    said = look(str(path))
    space = parse_quota(str(said["quota"])) or parse_statfs(str(said["statfs"]))
    return {
        "name": name,
        "path": str(path),
        "answers": True,
        "free_bytes": None if space is None else space.free_bytes,
        "total_bytes": None if space is None else space.total_bytes,
        "is_quota": space is not None and space.is_quota,
    }


def storage_routes(storage: Mapping[str, Path]) -> list[Any]:
    """Return the routes; `storage` has paths by the names of the links in the home."""
    return [(r"/portal/api/storage", StorageHandler, {"storage": storage})]
