"""The form "Run as a Job" of notebooks."""

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.notebook_jobs.handlers import (
    NotebookForecastHandler,
    NotebookJobsHandler,
    SweepsHandler,
)


def load(shared: Shared) -> Feature:
    """Offer the REST interface of the form."""
    given = {"root_dir": shared.server.root_dir}
    return Feature(
        routes=[
            (r"/portal/api/notebook-jobs", NotebookJobsHandler, given),
            (r"/portal/api/notebook-jobs/forecast", NotebookForecastHandler, given),
            (r"/portal/api/sweeps", SweepsHandler, given),
        ]
    )


PLUGIN = Plugin(load)
