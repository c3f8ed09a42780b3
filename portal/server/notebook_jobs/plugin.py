"""The form "Run as a Job" of notebooks."""

from __future__ import annotations

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.notebook_jobs.handlers import NotebookJobsHandler


def load(shared: Shared) -> Feature:
    """Offer the REST interface of the form."""
    root_dir = {"root_dir": shared.server.root_dir}
    return Feature(routes=[(r"/portal/api/notebook-jobs", NotebookJobsHandler, root_dir)])


PLUGIN = Plugin(load)
