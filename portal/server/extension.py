"""The Jupyter Server extension: prepares the home, registers routes, starts and stops services."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from traitlets import Float

from portal.response_headers import PlainHeaders
from portal.server.base.commands import equip_terminals
from portal.server.base.failed_page import offer_rescue
from portal.server.base.guest_rights import GuestRights
from portal.server.base.hub_api import HubApi
from portal.server.base.kernel_listener import KernelListener
from portal.server.base.local_socket import LocalSocket
from portal.server.base.open_notebooks import notebook_of
from portal.server.base.page import PAGES_DIR
from portal.server.base.private_dir import make_private_dir
from portal.server.base.storage_links import read_storage
from portal.server.base.unknown_route import ROUTE as UNKNOWN_ROUTE
from portal.server.collaboration.documents import load_collaboration, offer_labextensions
from portal.server.courses.course import Courses
from portal.server.courses.handlers import course_routes
from portal.server.downloads.refused import PLUGINS as DOWNLOAD_PLUGINS
from portal.server.downloads.refused import ROUTES as DOWNLOAD_ROUTES
from portal.server.environments.handlers import environment_routes
from portal.server.environments.tasks import Tasks
from portal.server.exports.handlers import export_routes
from portal.server.files.checkpoints import keep_checkpoints_apart
from portal.server.files.deletion import delete_whole_folders
from portal.server.files.handlers import Transfers, transfer_routes
from portal.server.files.unreadable_names import mark_unreadable_names
from portal.server.full_disk import keep_readable
from portal.server.git.panel import EXTENSION as GIT_PANEL
from portal.server.git.panel import count_no_polling
from portal.server.git.settings import forget_credentials
from portal.server.hidden_plugins import hide_plugins
from portal.server.inherited_environment import offer_tools, prepare_inherited
from portal.server.jobs.handlers import job_routes
from portal.server.jobs.queue import JobQueue
from portal.server.kernels.execution_watch import ExecutionWatch
from portal.server.kernels.handlers import kernel_routes
from portal.server.kernels.notebook_writer import NotebookWriter
from portal.server.kernels.offered_kernels import OfferedKernels
from portal.server.kernels.slurm_programs import SlurmPrograms
from portal.server.licenses import answer_refusals
from portal.server.lingering_threads import end_despite_threads
from portal.server.page_config import page_config
from portal.server.ports.handlers import port_routes
from portal.server.ports.key import PortKey
from portal.server.reading.handlers import Reading
from portal.server.runs.handlers import run_routes
from portal.server.runs.limit import RunsLimit
from portal.server.runs.runs import Runs
from portal.server.s3.drive import S3Drive
from portal.server.session.cells_elsewhere import CELL_ROUTE, CellHandler, CellsElsewhere
from portal.server.session.handlers import ROUTES
from portal.server.session.local_handlers import LOCAL_ROUTES
from portal.server.session.monitor import make_session_monitor
from portal.server.sharing.guest_gate import Guests
from portal.server.sharing.visitors import Visitors
from portal.server.ssh.connections import SshConnections
from portal.server.ssh.handlers import ROUTE as SSH_ROUTE
from portal.server.ssh.handlers import SshSocket
from portal.server.ssh.terminal_warnings import warn_terminals
from portal.server.storage.files import shared_files
from portal.server.storage.handlers import storage_routes
from portal.server.templates.handlers import template_routes
from portal.server.templates.home import Home
from portal.server.viewers.handlers import LocalPagesHandler, page_routes, tensorboard_routes
from portal.server.viewers.mlflow.pages import MlflowPages
from portal.server.viewers.mlflow.proxy import MlflowProxy
from portal.server.viewers.tensorboard.pages import TensorBoards
from portal.server.web_tools.handlers import ToolsHandler, offered_tools, tool_handlers
from portal.server.web_tools.vscode import vscode_tool
from spawner.session_settings import SessionSettings, read_settings


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
        contents = self.serverapp.contents_manager
        keep_readable(contents)
        keep_checkpoints_apart(contents)
        delete_whole_folders(contents)
        mark_unreadable_names(contents)
        self.private_dir = self._make_private_dir()
        settings = read_settings(os.environ)
        offer_tools(os.environ, Path(sys.prefix), settings, self.private_dir)
        self.has_git = settings.git
        self.forbids_downloads = settings.forbids_downloads
        self.home = Home(Path.home(), os.environ, self.private_dir, self.log)
        self.home.prepare(timeout_s=self.home_timeout_s)
        self.is_shareable = settings.is_shareable
        self.collaborates = self.is_shareable and load_collaboration(
            self.serverapp, self.private_dir
        )
        self.offered_kernels = OfferedKernels(self.serverapp, self.private_dir, self.log)
        self.offered_kernels.start()
        getattr(self.serverapp, "notices", []).extend(self.offered_kernels.problems)
        self.serverapp.web_app.add_transform(PlainHeaders)
        answer_refusals()
        # JupyterHub applies these options to its login cookie, but not to the XSRF cookie.
        options = json.loads(os.environ.get("JUPYTERHUB_COOKIE_OPTIONS", "{}"))
        self.serverapp.web_app.settings.setdefault("xsrf_cookie_kwargs", {}).update(options)

    def initialize_handlers(self) -> None:
        """Register the routes."""
        settings = read_settings(os.environ)
        listener = KernelListener(self.log)
        listener.watch(self.serverapp.kernel_manager)
        self._begin_services(settings, listener)
        key = PortKey(self.serverapp.base_url, os.environ)
        transfers = Transfers()
        if settings.forbids_downloads:
            self.handlers.extend(DOWNLOAD_ROUTES)
        for routes in self._tool_routes(settings, key, transfers):
            self.handlers.extend(routes)
        self.serverapp.web_app.settings.setdefault("page_config_data", {}).update(
            page_config(
                settings,
                is_shareable=self.is_shareable,
                tensorboard_script=self.tensorboards.script.path(self.serverapp.base_url),
            )
        )
        self._watch_people(key)
        self._watch_session(settings, listener, transfers)
        self.handlers.append(UNKNOWN_ROUTE)

    def _begin_services(self, settings: SessionSettings, listener: KernelListener) -> None:
        root_dir, base_url = self.serverapp.root_dir, self.serverapp.base_url
        self.tensorboards = TensorBoards(parent=self, root_dir=root_dir, base_url=base_url)
        self.mlflow_pages = MlflowPages(parent=self, root_dir=root_dir, base_url=base_url)
        self.kernel_socket = LocalSocket(self.private_dir, self.log)
        self.kernel_socket.open()
        self.kernel_socket.add_routes(
            [(r"/tensorboards", LocalPagesHandler, {"pages": self.tensorboards})]
        )
        self.slurm_programs = SlurmPrograms(self.private_dir, self.log)
        self.slurm_programs.open()
        self.environment_tasks = Tasks(
            self.private_dir / "environment-tasks", on_end=self._offer_changes, log=self.log
        )
        self.execution_watch = ExecutionWatch(listener)
        self.execution_watch.watch_tabs(self.serverapp.web_app.settings)
        self.notebook_writer = NotebookWriter(
            self.execution_watch,
            partial(notebook_of, self.serverapp.session_manager),
            self.serverapp.contents_manager,
            self.log,
        )
        self.saves_output = settings.saves_output
        self.runs = Runs(Path.home())
        self.runs_limit = RunsLimit(self.runs, settings, self.log)

    def _tool_routes(
        self, settings: SessionSettings, key: PortKey, transfers: Transfers
    ) -> Iterator[Sequence[tuple[Any, ...]]]:
        """Yield the routes of each tool."""
        root_dir = self.serverapp.root_dir
        kernels = self.offered_kernels
        vscode = vscode_tool(
            settings, self.private_dir, root_dir, key.prefix, kernels=kernels.folders
        )
        tools = (*filter(None, [vscode]), *offered_tools(settings))
        self.s3 = S3Drive(settings, self.serverapp.contents_manager, transfers.note)
        yield tool_handlers(tools, "/")
        yield [(r"/portal/api/tools", ToolsHandler, {"tools": tools})]
        yield transfer_routes(settings, transfers)
        yield export_routes()
        yield self.s3.routes
        yield shared_files(root_dir, read_storage(os.environ))
        yield storage_routes(read_storage(os.environ))
        yield tensorboard_routes(self.tensorboards)
        yield page_routes(self.mlflow_pages, MlflowProxy)
        yield kernel_routes(kernels.of_registries, self.execution_watch)
        yield environment_routes(self.environment_tasks, root_dir)
        yield template_routes(self.home, kernels.of_registries)
        yield job_routes(JobQueue(os.environ.get("SLURM_JOB_ID", ""), Path.home()), root_dir)
        yield run_routes(self.runs)
        yield port_routes(key)
        yield course_routes(Courses(Path(root_dir)), settings.course_hosts)

    def _watch_people(self, key: PortKey) -> None:
        """Let in whom the owner has let in, and tell who is here."""
        owner, hub = os.environ.get("JUPYTERHUB_USER", ""), HubApi(os.environ)
        self.visitors = Visitors(owner, hub, self.log)
        guest_rights = GuestRights(hub, self.log)
        self.guests = Guests(owner, self.log, guest_rights, self.serverapp.base_url, key.renew)
        self.reading = Reading(self.serverapp, guest_rights)
        if owner:
            self.visitors.watch(self.serverapp.identity_provider)
        if self.is_shareable:
            self.handlers.extend(self.reading.routes())
            if owner:
                self.guests.watch(self.serverapp.identity_provider)

    def _watch_session(
        self, settings: SessionSettings, listener: KernelListener, transfers: Transfers
    ) -> None:
        """Begin the session's clock, and what asks it."""
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
        local = {
            "session": self.session,
            "page": self.serverapp.base_url,
            "note_use": self._note_use,
        }
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

    async def _offer_changes(self) -> None:
        await asyncio.to_thread(self.offered_kernels.of_registries.offer)

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Start what needs the event loop."""
        equip_terminals(self.serverapp)
        offer_rescue(self.serverapp.web_app.settings)
        if self.has_git:
            count_no_polling()
        else:
            hide_plugins(self.serverapp.web_app, [GIT_PANEL])
        if self.forbids_downloads:
            hide_plugins(self.serverapp.web_app, DOWNLOAD_PLUGINS)
        self.session.start()
        self.ssh_warnings = asyncio.create_task(warn_terminals(self.ssh, self.session))
        self.runs_limit.start()
        if self.saves_output:
            self.notebook_writer.start()
        if self.collaborates:
            offer_labextensions(serverapp.web_app.settings)
        if self.is_shareable and "JUPYTERHUB_USER" in os.environ:
            self.guests.start()

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
        self.offered_kernels.stop()
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
        for folder in filter(None, (self.private_dir, self.offered_kernels.connections_dir)):
            # Last: what has just ended kept its sockets there.
            shutil.rmtree(folder, ignore_errors=True)
        end_despite_threads(self.log)
