"""REST API below `portal/api/environments`: tasks that make, update and remove environments."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler

from portal.environments.errors import RegistryError
from portal.environments.locked_commands import export_text
from portal.environments.own import own_environments
from portal.environments.probe import probe_node
from portal.environments.sharing import own_groups
from portal.packages.cli import kernels as shipped_kernels
from portal.server.base.authorization import RouteArguments, for_the_user, whole_number
from portal.server.environments.order import parse_order
from portal.server.environments.tasks import Tasks


class _EnvironmentsAPIHandler(RouteArguments, APIHandler):
    auth_resource = "kernelspecs"
    tasks: Tasks
    root: Path


class ChoicesHandler(_EnvironmentsAPIHandler):
    """What a new environment can be made of."""

    @for_the_user
    async def get(self) -> None:
        """Return shipped kernels, the user's groups, and whether this node has apptainer."""

        def read() -> dict[str, Any]:
            return {
                "kernels": [kernel.name for kernel in shipped_kernels(Path(sys.prefix))],
                "groups": own_groups(),
                "has_container": probe_node().container is not None,
            }

        self.finish(await asyncio.to_thread(read))


class OwnEnvironmentsHandler(_EnvironmentsAPIHandler):
    """The user's own environments."""

    @for_the_user
    async def get(self) -> None:
        """List them with place and size, which takes as long as the file systems do."""
        found = await asyncio.to_thread(own_environments, Path.home())
        self.finish(json.dumps([one.as_json() for one in found]))


class ExportHandler(_EnvironmentsAPIHandler):
    """The packages of an environment as a requirements file."""

    @for_the_user
    async def get(self, id_: str) -> None:
        """Return it as `{"text": ...}`; a kernel may be tried for it, which takes seconds."""
        self.finish({"text": await asyncio.to_thread(export_text, id_)})


class TasksHandler(_EnvironmentsAPIHandler):
    """The tasks of the session."""

    @for_the_user
    async def get(self) -> None:
        """List them, the oldest first."""
        self.finish(json.dumps([task.as_json() for task in self.tasks.list_tasks()]))

    @for_the_user
    async def post(self) -> None:
        """Start one: 201 and the task, or an error's status and `{"message": sentence}`."""
        task = await self.tasks.start(parse_order(self._body(), self.root))
        self.set_status(201)
        self.finish(task.as_json())

    def _body(self) -> Any:
        try:
            return json.loads(self.request.body)
        except ValueError:
            raise RegistryError("The request is not JSON.") from None


class TaskHandler(_EnvironmentsAPIHandler):
    """One task."""

    @for_the_user
    async def get(self, id_: str) -> None:
        """Return it, with `log`: what it has printed from byte `offset` on."""
        task = self.tasks.task(id_)
        offset = whole_number(self.get_argument("offset", ""), 0)
        self.finish({**task.as_json(), "log": task.output(offset)})

    @for_the_user
    async def delete(self, id_: str) -> None:
        """Cancel it: 204; the task shows when the command has ended."""
        self.tasks.cancel(id_)
        self.set_status(204)
        self.finish()


def environment_routes(tasks: Tasks, root_dir: str) -> list[Any]:
    """Return the routes; `root_dir` is the folder at the top of the file browser."""
    made = {"tasks": tasks, "root": Path(root_dir)}
    return [
        (r"/portal/api/environments/choices", ChoicesHandler, made),
        (r"/portal/api/environments/own", OwnEnvironmentsHandler, made),
        (r"/portal/api/environments/own/([^/]+)/export", ExportHandler, made),
        (r"/portal/api/environments/tasks", TasksHandler, made),
        (r"/portal/api/environments/tasks/([^/]+)", TaskHandler, made),
    ]
