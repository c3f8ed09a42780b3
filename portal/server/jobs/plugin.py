"""The page of the user's Slurm jobs."""

from __future__ import annotations

import os
from pathlib import Path

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.page import Page
from portal.server.jobs.handlers import job_routes
from portal.server.jobs.queue import JobQueue

_PAGE = Path(__file__).with_name("pages") / "jobs.html"


def load(shared: Shared) -> Feature:
    """Offer the page and its REST API."""
    queue = JobQueue(os.environ.get("SLURM_JOB_ID", ""), Path.home())
    return Feature(
        routes=[
            *job_routes(queue, shared.server.root_dir),
            (r"/portal/jobs", Page, {"file": _PAGE, "resource": "jobs"}),
        ]
    )


PLUGIN = Plugin(load)
