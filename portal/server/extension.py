"""The Jupyter Server extension: prepares the home, registers routes, starts and stops services."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir
from jupyter_server.extension.application import ExtensionApp
from traitlets import Float

from portal.environments.probe import probe_node
from portal.environments.registry import site_path
from portal.response_headers import PlainHeaders
from portal.server.collaboration import load_collaboration, offer_labextensions
from portal.server.commands import equip_terminals
from portal.server.environments.handlers import environment_routes
from portal.server.environments.tasks import Tasks
from portal.server.files.handlers import Transfers, transfer_routes
from portal.server.full_disk import keep_readable
from portal.server.git.course import Courses
from portal.server.git.handlers import course_routes
from portal.server.git.panel import count_no_polling, hide_git_panel
from portal.server.git.settings import forget_credentials
from portal.server.home.files import shared_files
from portal.server.home.handlers import template_routes
from portal.server.home.home import Home
from portal.server.hub_api import HubApi
from portal.server.inherited_environment import offer_tools, prepare_inherited
from portal.server.jobs.handlers import job_routes
from portal.server.jobs.page import PAGES_DIR
from portal.server.jobs.queue import JobQueue
from portal.server.kernel_listener import KernelListener
from portal.server.kernels.execution_watch import ExecutionWatch
from portal.server.kernels.handlers import kernel_routes
from portal.server.kernels.kernel_sockets import listen_on_sockets, make_connections_dir
from portal.server.kernels.kernels import Kernels
from portal.server.kernels.notebook_writer import NotebookWriter
from portal.server.kernels.slurm_programs import SlurmPrograms
from portal.server.kernels.without_packages import KernelsWithoutPackages
from portal.server.mlflow.pages import MlflowPages
from portal.server.mlflow.proxy import MlflowProxy
from portal.server.mlflow.tracking import has_mlflow
from portal.server.open_notebooks import notebook_of
from portal.server.ports.handlers import port_routes
from portal.server.ports.key import PortKey
from portal.server.private_dir import make_private_dir
from portal.server.reading.handlers import Reading
from portal.server.runs.handlers import run_routes
from portal.server.runs.limit import RunsLimit
from portal.server.runs.runs import Runs
from portal.server.s3.drive import S3Drive
from portal.server.session.cells_elsewhere import CELL_ROUTE, CellHandler, CellsElsewhere
from portal.server.session.guest_rights import GuestRights
from portal.server.session.guests import Guests
from portal.server.session.handlers import ROUTES
from portal.server.session.local_handlers import LOCAL_ROUTES
from portal.server.session.monitor import make_session_monitor
from portal.server.session.visitors import Visitors
from portal.server.ssh.connections import SshConnections
from portal.server.ssh.handlers import ROUTE as SSH_ROUTE
from portal.server.ssh.handlers import SshSocket
from portal.server.ssh.terminal_warnings import warn_terminals
from portal.server.storage_handlers import storage_routes
from portal.server.storage_links import read_storage
from portal.server.tensorboard.handlers import page_routes, tensorboard_routes
from portal.server.tensorboard.instances import TensorBoards
from portal.server.tensorboard.notebook_socket import NotebookSocket
from portal.server.web_tools.handlers import ToolsHandler, offered_tools, tool_handlers
from portal.server.web_tools.vscode import vscode_tool
from spawner.session_settings import read_settings


class PortalServer(ExtensionApp):
    """The portal's extension of the user's notebook server."""

    name = "portal"
    load_other_extensions = True
    classes = [TensorBoards, MlflowPages]  # noqa: RUF012
    static_paths = [str(PAGES_DIR)]  # noqa: RUF012

    home_timeout_s = Float(
        2.0,
        help="Seconds that the start waits for templates and the link to the shared storage; after "
        "that they are made while the session runs.",
    ).tag(config=True)

    def initialize_settings(self) -> None:
        """Prepare environment, home and kernels, so that the first page shows them."""
        prepare_inherited(os.environ, Path(sys.prefix))
        keep_readable(self.serverapp.contents_manager)
        self.private_dir = self._make_private_dir()
        settings = read_settings(os.environ)
        offer_tools(os.environ, Path(sys.prefix), settings, self.private_dir)
        self.has_git = settings.git
        self.home = Home(Path.home(), os.environ, self.private_dir, self.log)
        self.home.prepare(timeout_s=self.home_timeout_s)
        self.is_shareable = settings.is_shareable
        self.collaborates = self.is_shareable and load_collaboration(
            self.serverapp, self.private_dir
        )
        self._offer_environments()
        self.serverapp.web_app.add_transform(PlainHeaders)
        # JupyterHub applies these options to its login cookie, but not to the XSRF cookie.
        options = json.loads(os.environ.get("JUPYTERHUB_COOKIE_OPTIONS", "{}"))
        self.serverapp.web_app.settings.setdefault("xsrf_cookie_kwargs", {}).update(options)

    def initialize_handlers(self) -> None:
        """Register the routes."""
        base_url = self.serverapp.base_url
        self.tensorboards = TensorBoards(
            parent=self, root_dir=self.serverapp.root_dir, base_url=base_url
        )
        self.mlflow_pages = MlflowPages(
            parent=self, root_dir=self.serverapp.root_dir, base_url=base_url
        )
        self.kernel_socket = NotebookSocket(self.private_dir, self.tensorboards, self.log)
        self.kernel_socket.open()
        self.slurm_programs = SlurmPrograms(self.private_dir, self.log)
        self.slurm_programs.open()
        self.environment_tasks = Tasks(
            self.private_dir / "environment-tasks", on_end=self._offer_changes, log=self.log
        )
        listener = KernelListener(self.log)
        listener.watch(self.serverapp.kernel_manager)
        watch = ExecutionWatch(listener)
        watch.watch_tabs(self.serverapp.web_app.settings)
        self.notebook_writer = NotebookWriter(
            watch,
            partial(notebook_of, self.serverapp.session_manager),
            self.serverapp.contents_manager,
            self.log,
        )
        settings = read_settings(os.environ)
        self.saves_output = settings.saves_output
        runs = Runs(Path.home())
        self.runs_limit = RunsLimit(runs, settings, self.log)
        key = PortKey(base_url, os.environ)
        vscode = vscode_tool(
            settings,
            self.private_dir,
            self.serverapp.root_dir,
            key.prefix,
            kernels=(self.without_packages.folder, self.kernels.folder),
        )
        tools = (*filter(None, [vscode]), *offered_tools(settings))
        transfers = Transfers()
        self.s3 = S3Drive(settings, self.serverapp.contents_manager, transfers.note)
        root_dir = self.serverapp.root_dir
        for routes in (
            tool_handlers(tools, "/"),
            [(r"/portal/api/tools", ToolsHandler, {"tools": tools})],
            transfer_routes(settings, transfers),
            self.s3.routes,
            shared_files(root_dir, read_storage(os.environ)),
            storage_routes(read_storage(os.environ)),
            tensorboard_routes(self.tensorboards),
            page_routes(self.mlflow_pages, MlflowProxy),
            kernel_routes(self.kernels, watch),
            environment_routes(self.environment_tasks, root_dir),
            template_routes(self.home, self.kernels),
            job_routes(JobQueue(os.environ.get("SLURM_JOB_ID", ""), Path.home()), root_dir),
            run_routes(runs),
            port_routes(key),
            course_routes(Courses(Path(root_dir)), settings.course_hosts),
        ):
            self.handlers.extend(routes)
        self.serverapp.web_app.settings.setdefault("page_config_data", {}).update(
            {
                "portalName": settings.site_name,
                "portalUploads": settings.resumable_uploads,
                "portalShares": self.is_shareable,
                "portalArchives": settings.archives,
                "portalPreviews": settings.previews,
                "portalMlflow": "yes" if has_mlflow(settings) else "",
                "portalS3": settings.s3_endpoint,
                # Where ssh is offered, the Help menu says how.
                "portalSsh": "yes" if settings.ssh_limit else "",
                "tensorBoardScript": self.tensorboards.script.path(base_url),
            }
        )
        owner, hub = os.environ.get("JUPYTERHUB_USER", ""), HubApi(os.environ)
        self.visitors = Visitors(owner, hub, self.log)
        guest_rights = GuestRights(hub, self.log)
        self.guests = Guests(owner, self.log, guest_rights, base_url, key.renew)
        self.reading = Reading(self.serverapp, guest_rights)
        if owner:
            self.visitors.watch(self.serverapp.identity_provider)
        if self.is_shareable:
            self.handlers.extend(self.reading.routes())
            if owner:
                self.guests.watch(self.serverapp.identity_provider)
        cells = CellsElsewhere()
        self.session = make_session_monitor(
            self.serverapp,
            listener,
            is_working=lambda: (
                self.environment_tasks.is_running or transfers.is_running or cells.n_running > 0
            ),
        )
        self.handlers.extend(
            (route, handler, {"session": self.session}) for route, handler in ROUTES
        )
        self.ssh = SshConnections(
            limit=settings.ssh_limit,
            forwards_ports=settings.ssh_forwards_ports,
            environ=os.environ,
            log=self.log,
        )
        self.handlers.append(
            (SSH_ROUTE, SshSocket, {"connections": self.ssh, "session": self.session})
        )
        local = {"session": self.session, "page": base_url, "note_use": self._note_use}
        self.kernel_socket.add_routes([(route, handler, local) for route, handler in LOCAL_ROUTES])
        self.kernel_socket.add_routes([(CELL_ROUTE, CellHandler, {"cells": cells})])

    def _note_use(self) -> None:
        # Jupyter Server reports the latest of these times to the hub.
        times = self.serverapp.web_app.settings.setdefault("last_activity_times", {})
        times["vscode"] = datetime.now(UTC)

    def _make_private_dir(self) -> Path:
        try:
            return make_private_dir()
        except OSError as error:
            self.log.warning("This node has no room for sockets (%s): tools are missing.", error)
            # Nothing can be made in it, so each part that needs the folder reports that and
            # continues.
            return Path(os.devnull)

    def _offer_environments(self) -> None:
        connections_dir = self._keep_kernels_private()
        self.without_packages = KernelsWithoutPackages(
            self.private_dir / "without-packages/kernels",
            shipped=Path(sys.prefix) / "share/jupyter/kernels",
            home=Path.home(),
            log=self.log,
        )
        self.kernels = Kernels(
            self.private_dir / "environments/kernels",
            site=site_path(),
            home=Path.home(),
            # With the sockets on which kernels reach this server.
            node=probe_node(os.environ, self.private_dir, connections_dir),
            without_packages=self.without_packages,
            log=self.log,
        )
        # Appended, so that no environment can replace one of the shipped kernels.
        for kernels in (self.without_packages, self.kernels):
            self.serverapp.kernel_spec_manager.kernel_dirs.append(str(kernels.folder))
        self.kernels.start()

    async def _offer_changes(self) -> None:
        await asyncio.to_thread(self.kernels.offer)

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Start what needs the event loop."""
        equip_terminals(self.serverapp)
        if self.has_git:
            count_no_polling()
        else:
            hide_git_panel(self.serverapp.web_app)
        self.session.start()
        self.ssh_warnings = asyncio.create_task(warn_terminals(self.ssh, self.session))
        self.runs_limit.start()
        if self.saves_output:
            self.notebook_writer.start()
        if self.collaborates:
            offer_labextensions(serverapp.web_app.settings)
        if self.is_shareable and "JUPYTERHUB_USER" in os.environ:
            self.guests.start()

    def _keep_kernels_private(self) -> Path:
        self.connections_dir = make_connections_dir(self.private_dir)
        if self.connections_dir is None:
            self.log.warning("Kernels listen on ports: this node has no room for sockets.")
            return Path(jupyter_runtime_dir())
        listen_on_sockets(self.serverapp.kernel_manager, self.connections_dir)
        return self.connections_dir

    async def stop_extension(self) -> None:
        """Stop kernels, session and TensorBoards, and remove the private folders."""
        # First, while there is time: soon after SIGTERM Slurm kills what is left.
        if self.saves_output:
            await self.notebook_writer.stop()
        # No more questions from kernels that are about to end.
        self.kernel_socket.close()
        self.slurm_programs.close()
        await self.environment_tasks.stop()
        self.s3.stop()
        self.kernels.stop()
        await self.guests.stop()
        await self.reading.stop()
        await self.runs_limit.stop()
        self.ssh_warnings.cancel()
        await asyncio.gather(self.ssh_warnings, return_exceptions=True)
        await self.ssh.stop()
        await self.session.stop()
        await self.tensorboards.stop_all()
        await self.mlflow_pages.stop_all()
        await asyncio.to_thread(forget_credentials, self.private_dir)
        for folder in filter(None, (self.private_dir, self.connections_dir)):
            # Last: what has just ended kept its sockets there.
            shutil.rmtree(folder, ignore_errors=True)
