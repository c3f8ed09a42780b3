"""REST API `portal/api/runs`: list, name, stop and remove the user's runs, and read their output.

A run is a training that `dsportal.run` started, in this session or as a job of its own.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from jupyter_server.base.handlers import APIHandler

from portal.server.base.authorization import for_the_user, whole_number
from portal.server.base.output_file import read_piece
from portal.server.runs.runs import Runs


class _RunsAPIHandler(APIHandler):
    auth_resource = "jobs"
    # A panel that is open asks every few seconds, which must not count as activity.
    _track_activity = False

    def initialize(self, runs: Runs) -> None:
        """Store the arguments of the route."""
        self.runs = runs


class RunsHandler(_RunsAPIHandler):
    """All runs."""

    @for_the_user
    async def get(self) -> None:
        """List the newest; `measure=1` also brings the sizes of their folders up to date."""
        if self.get_query_argument("measure", "") == "1":
            await self.runs.measure()
        self.finish(json.dumps([view.as_json() for view in await self.runs.list_runs()]))


class RunHandler(_RunsAPIHandler):
    """One run."""

    @for_the_user
    async def post(self, name: str) -> None:
        """Name it: `{"label": "first try"}`; 204."""
        try:
            label = json.loads(self.request.body)["label"]
        except (ValueError, KeyError, TypeError):
            label = None
        self.runs.rename(name, label)
        self.set_status(204)
        self.finish()

    @for_the_user
    async def delete(self, name: str) -> None:
        """Remove the folder of a run that has ended: 204."""
        await self.runs.remove(name)
        self.set_status(204)
        self.finish()


class RunStopHandler(_RunsAPIHandler):
    """The end of a run."""

    @for_the_user
    async def post(self, name: str) -> None:
        """Stop it: 204; its ranks end within some seconds."""
        await self.runs.stop(name)
        self.set_status(204)
        self.finish()


class RunOutputHandler(_RunsAPIHandler):
    """The output of a run."""

    @for_the_user
    async def get(self, name: str) -> None:
        """Return a piece of what `rank` printed from byte `offset` on; without offset, its end."""
        rank = whole_number(self.get_query_argument("rank", ""), 0)
        offset = whole_number(self.get_query_argument("offset", ""), -1)
        path = self.runs.folder(name) / f"rank-{rank}.log"
        self.finish(asdict(read_piece(path, offset)))


def run_routes(runs: Runs) -> list[Any]:
    """Return the routes of the runs and of their page."""
    shared = {"runs": runs}
    return [
        (r"/portal/api/runs", RunsHandler, shared),
        (r"/portal/api/runs/([^/]+)", RunHandler, shared),
        (r"/portal/api/runs/([^/]+)/stop", RunStopHandler, shared),
        (r"/portal/api/runs/([^/]+)/output", RunOutputHandler, shared),
    ]
