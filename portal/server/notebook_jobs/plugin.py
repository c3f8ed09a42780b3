"""The form "Run as a Job" of notebooks."""

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.notebook_jobs.handlers import NotebookForecastHandler, NotebookJobsHandler


def load(shared: Shared) -> Feature:
    """Offer the REST interface of the form."""
    per_gpu = shared.settings.resources.per_gpu
    given = {"root_dir": shared.server.root_dir, "per_gpu": per_gpu}
    return Feature(
        routes=[
            (r"/portal/api/notebook-jobs", NotebookJobsHandler, given),
            (r"/portal/api/notebook-jobs/forecast", NotebookForecastHandler, given),
        ]
    )


PLUGIN = Plugin(load)
