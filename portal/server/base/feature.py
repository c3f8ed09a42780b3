"""What a feature of a session is, and what all of them are given.

A feature is a folder of `portal.server` with a module `plugin`, whose PLUGIN says by which settings
the site switches it on and makes it. No feature imports another: what one knows that others need is
in `Shared`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jupyter_server.extension.application import ExtensionApp
from jupyter_server.serverapp import ServerApp

from portal.server.base.guest_rights import GuestRights
from portal.server.base.hub_api import HubApi
from portal.server.base.kernel_listener import KernelListener
from portal.server.base.private_dir import make_private_dir
from portal.server.base.transfers import Transfers
from portal.server.base.use_report import UseReport
from portal.settings.session_tables import SessionTables, read_settings

# As Tornado wants them: pattern, handler, its arguments.
Route = tuple[Any, ...]


async def _nothing() -> None:
    return


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One feature of a session.

    Attributes:
        routes: Below the session's address; the first that fits a request answers it.
        local_routes: On the socket that only the user's own programs can open.
        page_data: What the labextension reads from the page.
        prepare: Reads and writes the home or the shared storage, either of which may hang: called
            in a thread, for which the start of the session waits two seconds at most.
        start: Called in the event loop when all extensions of the server have been loaded.
        save: Saves what would be lost. That of all features is awaited before the first of them
            stops: soon after SIGTERM Slurm kills what is left.
        stop: Ends what the feature has started. Features stop in no particular order.
    """

    routes: Sequence[Route] = ()
    local_routes: Sequence[Route] = ()
    page_data: Mapping[str, str | bool | float] = field(default_factory=dict)
    prepare: Callable[[], object] = lambda: None
    start: Callable[[], object] = lambda: None
    save: Callable[[], Awaitable[object]] = _nothing
    stop: Callable[[], Awaitable[object]] = _nothing


@dataclass(frozen=True, slots=True)
class Plugin:
    """What the module `plugin` of a feature says.

    Attributes:
        load: Makes the feature, before the first page is shown.
        is_on: Whether sessions with these settings have the feature; by default all have it.
    """

    load: Callable[[Shared], Feature]
    is_on: Callable[[SessionTables], bool] = lambda _: True


class SessionState(Protocol):
    """When the session ends and whether it is used, for features that tell it elsewhere."""

    async def left_s(self) -> int | None:
        """Return the seconds until the end; None if there is no limit or none is known."""

    async def describe(self) -> dict[str, Any]:
        """Return what pages show: "clock" and "idle" among others."""

    def note_input(self, age_s: float) -> None:
        """Note that somebody used the session `age_s` ago."""


class RegisteredKernels(Protocol):
    """The kernels of the registries of the site and of the user."""

    def packages(self, *, timeout_s: float) -> dict[str, tuple[str, ...] | None]:
        """Return what is installed in them as NAME==VERSION by kernel, the site's first.

        It waits at most `timeout_s` for what is still being tried; None stands for not known.
        """

    def offer(self) -> tuple[Any, ...]:
        """Offer all that is registered now.

        Returns:
            What is registered.
        """


class _NoKernels:
    def packages(self, *, timeout_s: float) -> dict[str, tuple[str, ...] | None]:
        del timeout_s
        return {}

    def offer(self) -> tuple[Any, ...]:
        return ()


class _NoSession:
    async def left_s(self) -> int | None:
        return None

    async def describe(self) -> dict[str, Any]:
        return {
            "clock": {"left_s": None, "warnings_s": []},
            "idle": {"state": "used", "ends_in_s": None},
        }

    def note_input(self, age_s: float) -> None:
        del age_s


@dataclass(kw_only=True)
class Shared:
    """What features are given, and what they tell each other.

    Attributes:
        extension: The portal's extension; parent of what a site or user can configure.
        private_dir: A folder on the node that only the user can enter.
        is_used: Each returns whether its feature works for the user, although no kernel computes.
        notices: Each returns what its feature has to tell in every tab now.
        program_names: Each returns what people call programs of its feature, by process id.
        on_guest_end: Called when a guest who could work here may not any more, and may have kept
            what stands for a login.
    """

    extension: ExtensionApp
    settings: SessionTables
    private_dir: Path
    log: logging.Logger
    hub: HubApi
    guest_rights: GuestRights
    listener: KernelListener
    transfers: Transfers
    use_report: UseReport
    is_used: list[Callable[[], bool]] = field(default_factory=list)
    notices: list[Callable[[], Sequence[str]]] = field(default_factory=list)
    program_names: list[Callable[[], Mapping[int, str]]] = field(default_factory=list)
    on_guest_end: list[Callable[[], None]] = field(default_factory=list)
    session: SessionState = field(default_factory=_NoSession)
    kernels: RegisteredKernels = field(default_factory=_NoKernels)

    @property
    def server(self) -> ServerApp:
        """Jupyter's notebook server."""
        return self.extension.serverapp


def make_shared(extension: ExtensionApp) -> Shared:
    """Make what the features of a session share; `extension` is the portal's, with its server."""
    log, hub, transfers = extension.log, HubApi(os.environ), Transfers()
    listener = KernelListener(log)
    listener.watch(extension.serverapp.kernel_manager)
    return Shared(
        extension=extension,
        settings=read_settings(os.environ),
        private_dir=_private_dir(log),
        log=log,
        hub=hub,
        guest_rights=GuestRights(hub, log),
        listener=listener,
        transfers=transfers,
        use_report=UseReport(hub.report_gpu_use),
        is_used=[lambda: transfers.is_running],
    )


def _private_dir(log: logging.Logger) -> Path:
    try:
        return make_private_dir()
    except OSError as error:
        log.warning("This node has no room for sockets (%s): tools are missing.", error)
        # Nothing can be made in it, so each part that needs the folder reports that and continues.
        return Path(os.devnull)
