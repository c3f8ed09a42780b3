"""The page of the user's runs, whose folders stay below the site's limit."""

from __future__ import annotations

from pathlib import Path

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.page import Page
from portal.server.runs.handlers import run_routes
from portal.server.runs.limit import RunsLimit
from portal.server.runs.runs import Runs

_PAGE = Path(__file__).with_name("pages") / "runs.html"


def load(shared: Shared) -> Feature:
    """Offer the page and its REST API."""
    runs = Runs(Path.home())
    limit = RunsLimit(runs, shared.settings, shared.log)
    return Feature(
        routes=[
            *run_routes(runs),
            (r"/portal/runs", Page, {"file": _PAGE, "resource": "jobs"}),
        ],
        start=limit.start,
        stop=limit.stop,
    )


PLUGIN = Plugin(load)
