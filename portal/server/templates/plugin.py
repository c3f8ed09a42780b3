"""The site's templates, in the home and as cards of the launcher."""

import os
from pathlib import Path

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.templates.handlers import template_routes
from portal.server.templates.home import Home


def load(shared: Shared) -> Feature:
    """Copy them into the home, and offer their REST API."""
    home = Home(Path.home(), os.environ, shared.private_dir, shared.log)
    return Feature(routes=template_routes(home, shared.kernels), prepare=home.prepare)


PLUGIN = Plugin(load)
