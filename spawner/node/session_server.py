"""Loads the notebook server of a session, whatever its user's own files hold."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from spawner.node.patches.stand_ins import load_hub_code
from spawner.node.port_report import report_stop
from spawner.own_config import (
    SWITCH,
    drop_portals_settings,
    find_own_files,
    reading_sentence,
    without_sentence,
)
from spawner.session_settings import EXTENSIONS, read_told, told_tables
from spawner.settings.terminals import TerminalSettings

# The number of the open socket, for a server that begins again in the same process.
_SOCKET = "PORTAL_SERVER_SOCKET"
_OWN_FILES = "PORTAL_OWN_CONFIG"
# Slurm kills what is left of a job KillWait seconds after TERM, so kernels get less than that.
SERVER_CONFIG: MutableMapping[str, Any] = {
    "KernelManager": {"shutdown_wait_time": 2.0},
    "ServerApp": {
        # Looking for a newer build at each start costs seconds.
        "tornado_settings": {"page_config_data": {"buildCheck": False, "buildAvailable": False}},
    },
}
log = logging.getLogger("dsportal")


def take_socket(environ: MutableMapping[str, str]) -> socket.socket | None:
    """Return the socket on which a server listens that begins again; None for one that begins."""
    number = environ.pop(_SOCKET, "")
    return socket.socket(fileno=int(number)) if number else None


def prepare_server(sock: socket.socket) -> Callable[[], None]:
    """Load the notebook server for a socket that already listens.

    Returns:
        Starts the server; returns when it has stopped and its kernels have ended.
    """
    load_hub_code()
    from jupyter_server.serverapp import ServerApp
    from jupyterhub.singleuser.extension import JupyterHubSingleUser
    from traitlets.config import Config

    from spawner import http_server
    from spawner.node.patches import (
        lab_commands,
        labextensions,
        language_servers,
        paths,
        single_user,
    )

    http_server.register()
    paths.prefer_shipped()
    lab_commands.run_no_node()
    language_servers.look_when_asked()

    # Here, because its base class may be imported only after `load_hub_code`.
    class SessionServer(ServerApp):
        """A notebook server on the given socket.

        Attributes:
            notices: Sentences that pages show their user.
        """

        notices: ClassVar[list[str]] = []

        @classmethod
        def _load_config_files(cls, *args: Any, **options: Any) -> Iterator[tuple[Any, str]]:
            for config, file in super()._load_config_files(*args, **options):
                if Path(file).is_relative_to(Path.home()):
                    for name in drop_portals_settings(config):
                        log.warning("%s sets %s, which the portal decides: ignored", file, name)
                yield config, file

        def _signal_stop(self, sig: Any, frame: Any) -> None:
            # The signal may interrupt a line of the log, and jupyter_server's handler, which writes
            # one too, would fail before it stops anything.
            self.io_loop.add_callback_from_signal(super()._signal_stop, sig, frame)

        def find_server_extensions(self) -> None:
            super().find_server_extensions()
            # A file in the user's home could say otherwise.
            found: dict[str, bool] = self.jpserver_extensions  # type: ignore[has-type]
            self.jpserver_extensions = found | told_tables(os.environ).get(EXTENSIONS, {})

        def _find_http_port(self) -> None:
            """Keep the port that is taken; Jupyter would look for a free one."""

        def _bind_http_server_tcp(self) -> bool:
            # Bound and listening since before the report, so nobody could take the port meanwhile.
            self.http_server.add_socket(sock)
            return True

        def stop(self, from_signal: bool = False) -> None:
            # The socket closes next, and then anybody can take its port.
            add = (
                self.io_loop.add_callback_from_signal if from_signal else self.io_loop.add_callback
            )
            add(self._report_stop)

        async def _report_stop(self) -> None:
            await asyncio.to_thread(report_stop, os.environ)
            super().stop()

        async def _cleanup(self) -> None:
            # The loop is stopped only after it: else the job goes on with its GPUs.
            try:
                await super()._cleanup()
            except Exception:
                log.exception("Not all of the server ended well")

        def init_configurables(self) -> None:
            # After the user's own files.
            self.update_config(Config(SERVER_CONFIG))
            if not read_told(os.environ, TerminalSettings, "terminals").enabled:
                self.update_config(Config({"ServerApp": {"terminals_enabled": False}}))
            super().init_configurables()

    single_user.serve_with(SessionServer)
    labextensions.skip_broken(SessionServer.notices)
    own_files = os.environ.pop(_OWN_FILES, "").split("\n")
    if own_files != [""]:
        SessionServer.notices.append(without_sentence(own_files))
        log.warning("%s", without_sentence(own_files))

    def launch() -> None:
        files = find_own_files(os.environ)
        if files:
            log.info("%s", reading_sentence(files))
        try:
            server = JupyterHubSingleUser.initialize_server(argv=sys.argv[1:])
        except (Exception, SystemExit):
            if not files:
                raise
            log.exception("The notebook server did not load")
            _begin_again(sock, files)
        # What runs in the session may be a JupyterHub of its own.
        os.environ.pop(SWITCH, None)
        server.start()

    return launch


def _begin_again(sock: socket.socket, own_files: Sequence[str]) -> NoReturn:
    """Load the server anew in this process, without the user's configuration."""
    os.environ |= {SWITCH: "1", _SOCKET: str(sock.fileno()), _OWN_FILES: "\n".join(own_files)}
    sock.set_inheritable(True)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
