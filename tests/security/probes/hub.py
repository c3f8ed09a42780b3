"""Prints the routes of the hub as a settings file makes them; nothing is started.

Run by the hub's own Python, with the settings file.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from jupyterhub.app import JupyterHub
from traitlets.config import Config

from portal.hub.apply import apply_settings
from portal.hub.settings.loader import load_settings

sys.path.insert(0, str(Path(__file__).parent))
from routes import routes_of


async def make_app(folder: Path) -> JupyterHub:
    """Return a hub that keeps its state in a folder of its own and opens no port."""
    settings = load_settings(Path(sys.argv[1]))
    config = Config()
    apply_settings(config, replace(settings, hub=replace(settings.hub, state_dir=folder)))
    config.JupyterHub.db_url = "sqlite:///:memory:"
    config.ConfigurableHTTPProxy.auth_token = "of-nobody"
    app = JupyterHub.instance(config=config)
    await app.initialize([])
    return app


with tempfile.TemporaryDirectory() as name:
    os.chdir(name)
    hub = asyncio.run(make_app(Path(name)))
    print("\n" + json.dumps(routes_of(hub.tornado_application.wildcard_router)), flush=True)
