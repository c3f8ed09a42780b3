"""REST API below `portal/api/environments`: tasks that make, update and remove environments."""

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler

from portal.environments.new_commands import export_text
from portal.environments.own import own_environments
from portal.environments.probe import probe_node
from portal.environments.sharing import own_groups
from portal.packages.cli import kernels as shipped_kernels
from portal.server.base.authorization import whole_number
from portal.server.base.rest import Answer, Route, read_body, route
from portal.server.environments.order import parse_order
from portal.server.environments.tasks import Tasks


def environment_routes(tasks: Tasks, root_dir: str) -> list[Route]:
    """Return the routes; `root_dir` is the folder at the top of the file browser."""
    offered = partial(route, resource="kernelspecs")

    async def start(request: APIHandler) -> Answer:
        task = await tasks.start(parse_order(read_body(request), Path(root_dir)))
        return Answer(201, task.as_json())

    def follow(request: APIHandler, id_: str) -> dict[str, Any]:
        offset = whole_number(request.get_argument("offset", ""), 0)
        task = tasks.task(id_)
        return {**task.as_json(), "log": task.output(offset)}

    return [
        offered(
            r"/portal/api/environments/choices", get=lambda _: asyncio.to_thread(_read_choices)
        ),
        offered(r"/portal/api/environments/own", get=_list_own),
        offered(r"/portal/api/environments/own/([^/]+)/export", get=_export),
        offered(
            r"/portal/api/environments/tasks",
            get=lambda _: [task.as_json() for task in tasks.list_tasks()],
            post=start,
        ),
        offered(
            r"/portal/api/environments/tasks/([^/]+)",
            get=follow,
            delete=lambda _, id_: tasks.cancel(id_),
        ),
    ]


def _read_choices() -> dict[str, Any]:
    return {
        "kernels": [kernel.name for kernel in shipped_kernels(Path(sys.prefix))],
        "groups": own_groups(),
        "has_container": probe_node().container is not None,
    }


async def _list_own(_: APIHandler) -> list[Any]:
    # Their sizes take as long as the file systems do.
    return await asyncio.to_thread(own_environments, Path.home())


async def _export(_: APIHandler, id_: str) -> dict[str, str]:
    # A kernel may be tried for it, which takes seconds.
    return {"text": await asyncio.to_thread(export_text, id_)}
