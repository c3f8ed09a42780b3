"""REST API `portal/api/runs`: list, name, stop and remove the user's runs, and read their output.

A run is a training that `dsportal.run` started, in this session or as a job of its own.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from jupyter_server.base.handlers import APIHandler

from dsportal.slurm.errors import PortalError
from portal.server.base.authorization import for_the_user
from portal.server.base.errors import RunError
from portal.server.base.output_file import read_piece
from portal.server.runs.runs import Runs

T = TypeVar("T")


class _RunsAPIHandler(APIHandler):
    auth_resource = "jobs"
    # A panel that is open asks every few seconds, which must not count as activity.
    _track_activity = False

    def initialize(self, runs: Runs) -> None:
        """Store the arguments of the route."""
        self.runs = runs

    async def answer(self, work: Callable[[], Awaitable[object]]) -> None:
        """Send what `work` returns as JSON, or an error's status and sentence; None is 204."""
        try:
            result = await work()
        except PortalError as error:
            self.log.warning("%s", error)
            self.set_status(error.http_status)
            self.finish({"message": error.message})
        except OSError as error:
            self.set_status(507)
            self.finish({"message": f"The folder of runs cannot be read ({error.strerror})."})
        else:
            if result is None:
                self.set_status(204)
                self.finish()
            else:
                self.finish(json.dumps(result))


class RunsHandler(_RunsAPIHandler):
    """All runs."""

    @for_the_user
    async def get(self) -> None:
        """List the newest; `measure=1` also brings the sizes of their folders up to date."""

        async def work() -> object:
            if self.get_query_argument("measure", "") == "1":
                await self.runs.measure()
            return [view.as_json() for view in await self.runs.list_runs()]

        await self.answer(work)


class RunHandler(_RunsAPIHandler):
    """One run."""

    @for_the_user
    async def post(self, name: str) -> None:
        """Name it: `{"label": "first try"}`; 204."""
        try:
            label = json.loads(self.request.body)["label"]
        except (ValueError, KeyError, TypeError):
            label = None

        async def work() -> None:
            self.runs.rename(name, label)

        await self.answer(work)

    @for_the_user
    async def delete(self, name: str) -> None:
        """Remove the folder of a run that has ended: 204."""
        await self.answer(lambda: self.runs.remove(name))


class RunStopHandler(_RunsAPIHandler):
    """The end of a run."""

    @for_the_user
    async def post(self, name: str) -> None:
        """Stop it: 204; its ranks end within some seconds."""
        await self.answer(lambda: self.runs.stop(name))


class RunOutputHandler(_RunsAPIHandler):
    """The output of a run."""

    @for_the_user
    async def get(self, name: str) -> None:
        """Return a piece of what `rank` printed from byte `offset` on; without offset, its end."""
        rank = _number(self.get_query_argument("rank", "0"), otherwise=0)
        offset = _number(self.get_query_argument("offset", ""), otherwise=-1)

        async def work() -> object:
            path: Path = self.runs.folder(name) / f"rank-{rank}.log"
            try:
                return asdict(read_piece(path, offset))
            except PortalError as error:
                raise RunError(error.message) from error

        await self.answer(work)


def _number(text: str, *, otherwise: int) -> int:
    # isdigit() also accepts characters such as ², at which int() fails.
    return int(text) if text.isascii() and text.isdigit() else otherwise


def run_routes(runs: Runs) -> list[Any]:
    """Return the routes of the runs and of their page."""
    shared = {"runs": runs}
    return [
        (r"/portal/api/runs", RunsHandler, shared),
        (r"/portal/api/runs/([^/]+)", RunHandler, shared),
        (r"/portal/api/runs/([^/]+)/stop", RunStopHandler, shared),
        (r"/portal/api/runs/([^/]+)/output", RunOutputHandler, shared),
    ]
