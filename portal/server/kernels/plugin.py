"""Kernels: those that are offered, their cells without a tab, and the saving of their output."""

import asyncio
import json
import shutil
from functools import partial

from jupyter_server.base.handlers import APIHandler

from portal.server.base.authorization import RouteArguments, for_the_user, whole_number
from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.open_notebooks import notebook_of
from portal.server.kernels.execution_watch import ExecutionWatch
from portal.server.kernels.kernels import Kernels
from portal.server.kernels.notebook_writer import NotebookWriter
from portal.server.kernels.offered_kernels import OfferedKernels
from portal.server.kernels.slurm_programs import SlurmPrograms


class EnvironmentsHandler(RouteArguments, APIHandler):
    """The environments of the site and of the user."""

    auth_resource = "kernelspecs"
    kernels: Kernels

    @for_the_user
    async def get(self) -> None:
        """List all of them, including those with a problem."""
        self.finish(self.kernels.as_json())

    @for_the_user
    async def post(self) -> None:
        """Read the registry again, try each environment, and list all of them."""
        await asyncio.to_thread(self.kernels.refresh)
        self.finish(self.kernels.as_json())


class ExecutionsHandler(RouteArguments, APIHandler):
    """The cells of one kernel whose tab was closed or reloaded before they had ended."""

    auth_resource = "kernels"
    # A tab that follows a cell asks every second, which must not count as activity.
    _track_activity = False
    watch: ExecutionWatch

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


class ExecutionHandler(RouteArguments, APIHandler):
    """One of them."""

    auth_resource = "kernels"
    watch: ExecutionWatch

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


def load(shared: Shared) -> Feature:
    """Offer kernels, so that the first page shows them, and watch their cells."""
    server = shared.server
    offered = OfferedKernels(server, shared.private_dir, shared.log)
    offered.start()
    getattr(server, "notices", []).extend(offered.problems)
    shared.kernels = offered.of_registries
    programs = SlurmPrograms(shared.private_dir, shared.log)
    programs.open()
    watch = ExecutionWatch(shared.listener)
    watch.watch_tabs(server.web_app.settings)
    executions = {"watch": watch}
    routes = [
        (r"/portal/api/environments", EnvironmentsHandler, {"kernels": offered.of_registries}),
        (r"/portal/api/kernels/([^/]+)/executions", ExecutionsHandler, executions),
        (r"/portal/api/kernels/([^/]+)/executions/([^/]+)", ExecutionHandler, executions),
    ]

    async def stop() -> None:
        programs.close()
        offered.stop()
        if offered.connections_dir is not None:
            await asyncio.to_thread(shutil.rmtree, offered.connections_dir, ignore_errors=True)

    if not shared.settings.notebooks.save_output:
        return Feature(routes=routes, stop=stop)
    notebook = partial(notebook_of, server.session_manager)
    writer = NotebookWriter(watch, notebook, server.contents_manager, shared.log)
    return Feature(routes=routes, start=writer.start, save=writer.stop, stop=stop)


PLUGIN = Plugin(load)
