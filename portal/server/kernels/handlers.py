"""REST APIs of kernels: those that are offered, and what their cells show without a tab."""

import asyncio
import json
from typing import Any

from jupyter_server.base.handlers import APIHandler

from portal.server.base.authorization import for_the_user, whole_number
from portal.server.kernels.execution_watch import ExecutionWatch
from portal.server.kernels.kernels import Kernels


class EnvironmentsHandler(APIHandler):
    """The environments of the site and of the user."""

    auth_resource = "kernelspecs"

    def initialize(self, kernels: Kernels) -> None:
        """Store the arguments of the route."""
        self.kernels = kernels

    @for_the_user
    async def get(self) -> None:
        """List all of them, including those with a problem."""
        self.finish(self.kernels.as_json())

    @for_the_user
    async def post(self) -> None:
        """Read the registry again, try each environment, and list all of them."""
        await asyncio.to_thread(self.kernels.refresh)
        self.finish(self.kernels.as_json())


class ExecutionsHandler(APIHandler):
    """The cells of one kernel whose tab was closed or reloaded before they had ended."""

    auth_resource = "kernels"
    # A tab that follows a cell asks every second, which must not count as activity.
    _track_activity = False

    def initialize(self, watch: ExecutionWatch) -> None:
        """Store the arguments of the route."""
        self.watch = watch

    @for_the_user
    async def get(self, kernel_id: str) -> None:
        """List them with what they showed; see `Executions.as_json` for the arguments."""
        number = whole_number(self.get_query_argument("after", ""), 0)
        wanted_id = self.get_query_argument("id", "")
        executions = self.watch.executions(kernel_id)
        self.finish(json.dumps(executions.as_json(wanted_id, after=number)))

    @for_the_user
    async def delete(self, kernel_id: str) -> None:
        """Forget those that ended in `tab`, which has saved the notebook since: 204."""
        self.watch.executions(kernel_id).forget_of_tab(self.get_query_argument("tab", ""))
        self.set_status(204)
        self.finish()


class ExecutionHandler(APIHandler):
    """One of them."""

    auth_resource = "kernels"

    def initialize(self, watch: ExecutionWatch) -> None:
        """Store the arguments of the route."""
        self.watch = watch

    @for_the_user
    async def post(self, kernel_id: str, execution_id: str) -> None:
        """Let `tab` show it, whose own tab is gone: 204, or 409 if another one does."""
        tab = self.get_query_argument("tab", "")
        may_show = self.watch.executions(kernel_id).claim(execution_id, tab)
        self.set_status(204 if may_show else 409)
        self.finish()

    @for_the_user
    async def delete(self, kernel_id: str, execution_id: str) -> None:
        """Forget it, since a notebook was saved with its output: 204."""
        self.watch.executions(kernel_id).forget(execution_id)
        self.set_status(204)
        self.finish()


def kernel_routes(kernels: Kernels, watch: ExecutionWatch) -> list[Any]:
    """Return the routes of kernels and of what their cells show."""
    executions = {"watch": watch}
    return [
        (r"/portal/api/environments", EnvironmentsHandler, {"kernels": kernels}),
        (r"/portal/api/kernels/([^/]+)/executions", ExecutionsHandler, executions),
        (r"/portal/api/kernels/([^/]+)/executions/([^/]+)", ExecutionHandler, executions),
    ]
