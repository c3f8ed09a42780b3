"""Prints the routes of a session's server, made in the environment of a running one.

Run by the server's own Python, as the session's user; it opens no port.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from spawner.certificates import AUTHORITY_VARIABLE, load_identity
from spawner.node.singleuser import service_url
from spawner.session_settings import EXTENSIONS, told_tables

sys.path.insert(0, str(Path(__file__).parent))
from routes import routes_of

# As a session's own server does, before JupyterHub's modules look at these variables.
if AUTHORITY_VARIABLE in os.environ:
    load_identity(os.environ, "127.0.0.1")
os.environ["JUPYTERHUB_SERVICE_URL"] = service_url(os.environ, "127.0.0.1", 1)

from jupyter_server.serverapp import ServerApp
from jupyterhub.singleuser.extension import JupyterHubSingleUser


class SilentServer(ServerApp):
    """A server that is set up and does not listen."""

    def find_server_extensions(self) -> None:
        """Have the extensions of a session, as its own server has."""
        super().find_server_extensions()
        self.jpserver_extensions |= told_tables(os.environ).get(EXTENSIONS, {})

    def init_httpserver(self) -> None:
        """Open no port."""


JupyterHubSingleUser.serverapp_class = SilentServer
application = JupyterHubSingleUser.initialize_server([]).web_app
found = routes_of(application.wildcard_router) + routes_of(application.default_router)
print("\n" + json.dumps(found), flush=True)
# Threads of extensions would go on.
os._exit(0)
