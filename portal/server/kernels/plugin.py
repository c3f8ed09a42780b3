"""Kernels: those that are offered, their cells without a tab, and the saving of their output."""

import asyncio
import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir
from jupyter_server.base.handlers import APIHandler

from portal.environments.probe import probe_node
from portal.server.base.authorization import whole_number
from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.open_notebooks import notebook_of
from portal.server.base.rest import Answer, Route, route
from portal.server.kernels.execution_watch import ExecutionWatch
from portal.server.kernels.kernel_sockets import listen_on_sockets
from portal.server.kernels.kernels import Kernels, describe_kernels
from portal.server.kernels.notebook_writer import NotebookWriter
from portal.server.kernels.slurm_programs import SlurmPrograms
from portal.server.patches.kernel_handlers import explain_kernel_starts


def environments_route(kernels: Kernels) -> Route:
    """Return the route of the environments of the site and of the user, also with a problem."""

    async def refresh(_: APIHandler) -> Any:
        await asyncio.to_thread(kernels.refresh)
        return kernels.as_json()

    return route(
        r"/portal/api/environments", "kernelspecs", get=lambda _: kernels.as_json(), post=refresh
    )


def execution_routes(watch: ExecutionWatch) -> list[Route]:
    """Return the routes of cells whose tab was closed or reloaded before they had ended."""

    def list_all(request: APIHandler, kernel_id: str) -> Any:
        number = whole_number(request.get_query_argument("after", ""), 0)
        wanted_id = request.get_query_argument("id", "")
        return watch.executions(kernel_id).as_json(wanted_id, after=number)

    def claim(request: APIHandler, kernel_id: str, execution_id: str) -> Answer:
        tab = request.get_query_argument("tab", "")
        may_show = watch.executions(kernel_id).claim(execution_id, tab)
        return Answer(204 if may_show else 409)

    return [
        route(
            r"/portal/api/kernels/([^/]+)/executions",
            "kernels",
            # A tab that follows a cell asks every second.
            is_polled=True,
            get=list_all,
            # A tab has saved the notebook.
            delete=lambda request, kernel_id: watch.executions(kernel_id).forget_of_tab(
                request.get_query_argument("tab", "")
            ),
        ),
        route(
            r"/portal/api/kernels/([^/]+)/executions/([^/]+)",
            "kernels",
            post=claim,
            delete=lambda _, kernel_id, id_: watch.executions(kernel_id).forget(id_),
        ),
    ]


def load(shared: Shared) -> Feature:
    """Offer kernels, so that the first page shows them, and watch their cells."""
    server = shared.server
    connections_dir = listen_on_sockets(server.kernel_manager, shared.private_dir)
    if connections_dir is None:
        shared.log.warning("Kernels listen on ports: this node has no room for sockets.")
    sockets_dir = connections_dir or Path(jupyter_runtime_dir())
    explain_kernel_starts(sockets_dir)
    # With the sockets on which kernels reach this server.
    node = probe_node(os.environ, shared.private_dir, sockets_dir)
    kernels, problems, folders = describe_kernels(shared.private_dir, node, shared.log)
    # Appended, so that no environment can replace one of the shipped kernels.
    server.kernel_spec_manager.kernel_dirs.extend(map(str, folders))
    kernels.start()
    getattr(server, "notices", []).extend(problems)
    shared.kernels = kernels
    programs = SlurmPrograms(shared.private_dir, shared.log)
    programs.open()
    watch = ExecutionWatch(shared.listener)
    watch.watch_tabs(server.web_app.settings)
    routes = [environments_route(kernels), *execution_routes(watch)]

    async def stop() -> None:
        programs.close()
        kernels.stop()
        if connections_dir is not None:
            await asyncio.to_thread(shutil.rmtree, connections_dir, ignore_errors=True)

    if not shared.settings.notebooks.save_output:
        return Feature(routes=routes, stop=stop)
    notebook = partial(notebook_of, server.session_manager)
    writer = NotebookWriter(watch, notebook, server.contents_manager, shared.log)
    return Feature(routes=routes, start=writer.start, save=writer.stop, stop=stop)


PLUGIN = Plugin(load)
