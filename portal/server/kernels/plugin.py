"""Kernels: those that are offered, their cells without a tab, and the saving of their output."""

import asyncio
import shutil
from functools import partial

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.open_notebooks import notebook_of
from portal.server.kernels.execution_watch import ExecutionWatch
from portal.server.kernels.handlers import kernel_routes
from portal.server.kernels.notebook_writer import NotebookWriter
from portal.server.kernels.offered_kernels import OfferedKernels
from portal.server.kernels.slurm_programs import SlurmPrograms


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
    routes = kernel_routes(offered.of_registries, watch)

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
