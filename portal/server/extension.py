"""The server extension: routes, and what is done before the notebook server answers."""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_server.extension.application import ExtensionApp
from traitlets import Float

from portal.server.home import prepare_home
from portal.server.kernel_socket import KernelSocket
from portal.server.proxy import TensorBoardProxy
from portal.server.rest import TensorBoardHandler, TensorBoardsHandler
from portal.server.tensorboards import TensorBoards


class PortalServer(ExtensionApp):
    """The portal's part in the user's notebook server."""

    name = "portal"
    load_other_extensions = True
    classes = [TensorBoards]  # noqa: RUF012

    home_timeout_s = Float(
        2.0,
        help="Seconds that the start waits for templates and the link to the shared storage; after "
        "that they are made while the session runs.",
    ).tag(config=True)

    def initialize_settings(self) -> None:
        """Prepare the user's home, so that the first page shows it."""
        prepare_home(Path.home(), os.environ, self.log, timeout_s=self.home_timeout_s)

    def initialize_handlers(self) -> None:
        """Register the routes."""
        base_url = self.serverapp.base_url
        self.tensorboards = TensorBoards(
            parent=self, root_dir=self.serverapp.root_dir, base_url=base_url
        )
        self.kernel_socket = KernelSocket(self.tensorboards, self.log)
        self.kernel_socket.open()
        shared = {"tensorboards": self.tensorboards}
        self.handlers.extend(
            [
                (r"/portal/api/tensorboards", TensorBoardsHandler, shared),
                (r"/portal/api/tensorboards/([^/]+)", TensorBoardHandler, shared),
                (r"/portal/tensorboards/([^/]+)(/.*)?", TensorBoardProxy, shared),
            ]
        )

    async def stop_extension(self) -> None:
        """End all TensorBoards with the notebook server."""
        self.kernel_socket.close()
        await self.tensorboards.stop_all()
