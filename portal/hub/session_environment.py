"""What the hub tells each session: settings for the portal's programs, variables for users'."""

import json
from typing import Any

from portal.hub.settings.loader import Settings
from portal.settings.session_tables import session_json
from spawner.session_settings import EXTENSIONS

# What jupyter_server_proxy routes leads to every port of the node, whoever listens. nbgitpuller
# fetches unasked whatever a link names. The others watch files for tools that sessions have only
# where the portal's own extension loads them.
EXTENSIONS_OFF = (
    *("jupyter_server_proxy", "nbgitpuller", "nbdime"),
    *("jupyter_server_fileid", "jupyter_server_ydoc"),
)


def session_settings(settings: Settings) -> dict[str, Any]:
    """Return what the programs in a session read: the tables, and which extensions run."""
    extensions = {"portal.server": True, **dict.fromkeys(EXTENSIONS_OFF, False)}
    if not settings.git.enabled:
        extensions["jupyterlab_git"] = False
    return {EXTENSIONS: extensions, **session_json(settings)}


def public_variables(settings: Settings) -> dict[str, str]:
    """Return the variables that notebooks, templates in homes and job scripts may read.

    docs/use/in-the-session.md describes them: they stay as they are over releases.
    """
    variables = {
        "PORTAL_STORAGE": json.dumps({place.name: place.folder for place in settings.site_storage}),
        "PORTAL_DATASETS_DIR": settings.datasets,
        "PORTAL_TEMPLATES_DIR": str(settings.storage.templates),
        # A route of an extension that forgets to require a login is refused, not open.
        "JUPYTER_SERVER_ALLOW_UNAUTHENTICATED_ACCESS": "false",
    }
    if settings.assistant.base_url:
        variables["PORTAL_ASSISTANT_URL"] = settings.assistant.base_url
        variables["PORTAL_ASSISTANT_MODEL"] = settings.assistant.model
        if settings.assistant.tools:
            variables["PORTAL_ASSISTANT_TOOLS"] = "1"
    if settings.site.simulated_gpus:
        variables["PORTAL_GPUS_SIMULATED"] = "1"
    return variables
