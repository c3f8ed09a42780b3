"""The page of the user's jobs and runs."""

import os
from pathlib import Path

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.page import Page
from portal.server.jobs.handlers import job_routes
from portal.server.jobs.listing import JobList
from portal.server.jobs.queue import JobQueue
from portal.server.jobs.runs import Runs
from spawner.session_settings import OTHER_CLUSTERS

_PAGE = Path(__file__).with_name("pages") / "jobs.html"


def load(shared: Shared) -> Feature:
    """Offer the page and its REST API."""
    queue = JobQueue(os.environ.get("SLURM_JOB_ID", ""), Path.home())
    jobs = JobList(
        queue,
        Runs(Path.home(), queue),
        shared.hub.read_places,
        shared.hub.read_elsewhere,
        os.environ.get(OTHER_CLUSTERS, ""),
    )
    return Feature(
        routes=[
            *job_routes(jobs, shared.server.root_dir),
            (r"/portal/jobs", Page, {"file": _PAGE, "auth_resource": "jobs"}),
        ]
    )


PLUGIN = Plugin(load)
