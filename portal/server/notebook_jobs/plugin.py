"""The form "Run as a Job" of notebooks."""

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.notebook_jobs.handlers import notebook_routes


def load(shared: Shared) -> Feature:
    """Offer the REST interface of the form."""
    return Feature(routes=notebook_routes(shared.server.root_dir))


PLUGIN = Plugin(load)
