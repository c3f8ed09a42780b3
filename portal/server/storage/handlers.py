"""REST API `portal/api/storage`: the site's storages as this user finds them."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler

import spawner
from portal.server.base.rest import Route, route
from spawner.space import choose_space, fault_of, space_checks

# What the launcher runs on the head node: started, not imported.
PROGRAM = Path(spawner.__path__[0], "programs", "storage_checks.py")


async def describe(name: str, path: Path) -> dict[str, Any] | None:
    """Return a storage as JSON has it; None if it is not there or the user may not enter it.

    Only child processes touch it: a mount that hangs would take this one with it.
    """
    found = await _look(path)
    fault = fault_of(found, str(path))
    if fault == "missing":
        return None
    space = choose_space(found, str(path))
    return {
        "name": name,
        "path": str(path),
        "answers": not fault,
        "free_bytes": None if space is None else space.free_bytes,
        "total_bytes": None if space is None else space.total_bytes,
        "is_quota": space is not None and space.is_quota,
    }


async def _look(path: Path) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-IS", PROGRAM),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate(json.dumps(space_checks([str(path)])).encode())
    found: dict[str, Any] = json.loads(out)
    return found


def storage_routes(storage: Mapping[str, Path]) -> list[Route]:
    """Return the routes; `storage` has paths by the names of the links in the home."""

    async def describe_all(_: APIHandler) -> dict[str, Any]:
        asked = (describe(name, path) for name, path in storage.items())
        return {"storages": [one for one in await asyncio.gather(*asked) if one is not None]}

    return [route(r"/portal/api/storage", "contents", get=describe_all)]
