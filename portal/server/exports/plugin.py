"""Notebooks as PDF, HTML and other formats that this node can make."""

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.exports.handlers import export_routes


def load(shared: Shared) -> Feature:
    """Answer in the place of Jupyter's own routes."""
    del shared
    return Feature(routes=export_routes())


PLUGIN = Plugin(load)
