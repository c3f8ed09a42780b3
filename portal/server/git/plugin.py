"""Git: its settings and passwords in one session, and JupyterLab's panel."""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.hidden_plugins import hide_plugins
from portal.server.git.settings import forget_credentials, offer_git
from portal.server.patches.git_handler import count_no_polling

PANEL = "@jupyterlab/git"


def load(shared: Shared) -> Feature:
    """Set git up, or hide its panel."""
    if not shared.settings.git.enabled:
        return Feature(start=partial(hide_plugins, shared.server.web_app, [PANEL]))
    offer_git(os.environ, Path(sys.prefix), shared.private_dir)
    return Feature(
        start=count_no_polling,
        stop=partial(asyncio.to_thread, forget_credentials, shared.private_dir),
    )


PLUGIN = Plugin(load)
