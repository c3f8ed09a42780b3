"""The Jupyter Server extension: a session's features, between its start and its end."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from jupyter_server.extension.application import ExtensionApp
from tornado.web import HTTPError, RequestHandler

from portal.response_headers import PlainHeaders
from portal.server.base.feature import make_shared
from portal.server.base.inherited_environment import prepare_inherited
from portal.server.base.lingering_threads import end_despite_threads
from portal.server.base.local_socket import LocalSocket
from portal.server.base.page import FOLDERS, guides_url
from portal.server.base.rest import route
from portal.server.features import load_features
from portal.server.patches.contents_manager import change_contents
from portal.server.patches.hub_auth import take_tokens_of_websockets
from portal.server.patches.licenses_handler import answer_refusals
from portal.server.patches.signature_store import keep_readable


def _refuse(request: RequestHandler) -> NoReturn:
    raise HTTPError(404, f"There is nothing at {request.request.path} in this session.")


class PortalServer(ExtensionApp):
    """The portal's extension of the user's notebook server."""

    name = "portal"
    load_other_extensions = True
    static_paths = [str(folder) for folder in FOLDERS]  # noqa: RUF012

    def initialize_settings(self) -> None:
        """Prepare what all features share."""
        prepare_inherited(os.environ, Path(sys.prefix))
        keep_readable(self.serverapp.contents_manager)
        change_contents(self.serverapp.contents_manager)
        answer_refusals()
        take_tokens_of_websockets()
        self.serverapp.web_app.add_transform(PlainHeaders)
        # JupyterHub applies these options to its login cookie, but not to the XSRF cookie.
        options = json.loads(os.environ.get("JUPYTERHUB_COOKIE_OPTIONS", "{}"))
        self.serverapp.web_app.settings.setdefault("xsrf_cookie_kwargs", {}).update(options)
        self.shared = make_shared(self)

    def initialize_handlers(self) -> None:
        """Load the features, register what they answer, and tell pages of them."""
        # Not earlier: Jupyter puts back those of its settings that are changed until here.
        self.features = load_features(self.shared)
        page_data = self.serverapp.web_app.settings.setdefault("page_config_data", {})
        page_data["portalName"] = self.shared.settings.site.name
        page_data["portalGuides"] = guides_url()
        for feature in self.features:
            self.handlers.extend(feature.routes)
            page_data.update(feature.page_data)
        # In JSON, as all routes there answer.
        unknown: dict[str, Any] = dict.fromkeys(("get", "post", "put", "patch", "delete"), _refuse)
        self.handlers.append(route(r"/portal/api/.*", "server", **unknown))
        local_routes = [route for feature in self.features for route in feature.local_routes]
        self.local_socket = LocalSocket(self.shared.private_dir, local_routes, self.log)
        self.local_socket.open()

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        for feature in self.features:
            feature.start()

    async def stop_extension(self) -> None:
        """Stop the features, and remove the private folder."""
        # First, while there is time: soon after SIGTERM Slurm kills what is left.
        await self._finish(feature.save() for feature in self.features)
        # No more questions from kernels that are about to end.
        self.local_socket.close()
        await self._finish(feature.stop() for feature in self.features)
        # What has just ended kept its sockets there.
        shutil.rmtree(self.shared.private_dir, ignore_errors=True)
        end_despite_threads(self.log)

    async def _finish(self, works: Iterable[Awaitable[object]]) -> None:
        # One that fails must not leave the others running.
        for result in await asyncio.gather(*works, return_exceptions=True):
            if isinstance(result, BaseException):
                self.log.error("A feature of the session did not end well", exc_info=result)
