"""The session itself: time left, use of its resources, idleness, its end."""

import os
from collections import ChainMap
from datetime import UTC, datetime

from jupyter_server.serverapp import ServerApp
from tornado.web import RequestHandler

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.session.cells_elsewhere import ROUTE as CELL_ROUTE
from portal.server.session.cells_elsewhere import CellHandler
from portal.server.session.handlers import local_session_routes, session_routes
from portal.server.session.monitor import SessionMonitor
from portal.server.session.own_rest import HUB_ROUTE, OWN_ROUTE, HubHandler, OwnServer


def load(shared: Shared) -> Feature:
    """Begin the session's clock, and offer what asks it."""
    cells: set[RequestHandler] = set()
    server = shared.server
    shared.is_used.append(lambda: bool(cells))
    session = SessionMonitor(
        server,
        shared.listener,
        is_working=lambda: any(is_used() for is_used in shared.is_used),
        notices=shared.notices,
        program_names=lambda: dict(ChainMap(*(dict(names()) for names in shared.program_names))),
        use_report=shared.use_report,
        hub=shared.hub,
    )
    shared.session = session

    def note_use() -> None:
        # Jupyter Server reports the latest of these times to the hub.
        times = server.web_app.settings.setdefault("last_activity_times", {})
        times["vscode"] = datetime.now(UTC)

    return Feature(
        routes=session_routes(session),
        local_routes=[
            *local_session_routes(session, server.base_url, note_use),
            (CELL_ROUTE, CellHandler, {"running": cells}),
            (HUB_ROUTE, HubHandler, {"hub": shared.hub}),
            (OWN_ROUTE, _own_server(server)),
        ],
        start=session.start,
        stop=session.stop,
    )


def _own_server(server: ServerApp) -> OwnServer:
    base_url = os.environ.get("JUPYTERHUB_BASE_URL", "/")
    return OwnServer(server.web_app, base_url, os.environ.get("JUPYTERHUB_API_TOKEN", ""))


PLUGIN = Plugin(load)
