"""The server extension: routes, and what is done before the notebook server answers."""

from __future__ import annotations

from jupyter_server.extension.application import ExtensionApp

from portal.server.proxy import TensorBoardProxy
from portal.server.rest import TensorBoardHandler, TensorBoardsHandler
from portal.server.tensorboards import TensorBoards


class PortalServer(ExtensionApp):
    """The portal's part in the user's notebook server."""

    name = "portal"
    load_other_extensions = True
    classes = [TensorBoards]  # noqa: RUF012

    def initialize_settings(self) -> None:
        """Prepare the home and switch off what a compute node has no use for."""
        # JupyterLab would check its build, which takes seconds, and look for news on the internet,
        # which a compute node may not reach.
        page_config = self.serverapp.web_app.settings.setdefault("page_config_data", {})
        page_config.update(buildAvailable=False, buildCheck=False, news={"disabled": True})

    def initialize_handlers(self) -> None:
        """Register the routes."""
        base_url = self.serverapp.base_url
        self.tensorboards = TensorBoards(
            parent=self, root_dir=self.serverapp.root_dir, base_url=base_url
        )
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
        await self.tensorboards.stop_all()
