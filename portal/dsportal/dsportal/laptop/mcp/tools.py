"""The tools: name, arguments and effect of each, over the verbs of the laptop's command."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from dsportal import tool
from dsportal.tool import Excerpt

from .. import work
from ..host import LaptopError
from ..rest import Portal
from ..sessions import Session, list_sessions, said
from ..verbs import START_OPTIONS
from . import CHANGES
from .cells import Cells

# Of a file that is fetched as a whole.
_MOST_BYTES = 10_000_000
_OF_SESSION = {"session": "name of the session; without it the one that has no name"}


@dataclass(frozen=True)
class Tool(tool.Tool):
    """What an agent may call; `run` gets what is set when the client cancels the call, too."""

    @property
    def changes(self) -> bool:
        """Whether it starts, stops or runs something."""
        return self.name in CHANGES

    def describe(self) -> dict[str, Any]:
        """Return what clients are told."""
        return {
            "name": self.name,
            "description": self.text,
            "inputSchema": self.schema(),
            "annotations": {
                "readOnlyHint": not self.changes,
                "destructiveHint": self.changes,
                "openWorldHint": False,
            },
        }

    def call(self, arguments: Any, cancelled: threading.Event) -> str:
        """Run it with `arguments` by their names."""
        if refusal := self.refusal(arguments):
            raise LaptopError(refusal)
        return str(Excerpt(self.run(cancelled, **arguments)))


@dataclass
class Toolbox:
    """The tools of one portal."""

    portal: Portal
    cells: Cells = field(default_factory=Cells)

    def tools(self) -> list[Tool]:
        """Return all of them."""
        session = {name: ("string", text) for name, text in _OF_SESSION.items()}
        kinds = {"gpus": "integer", "hours": "number"}
        start = {name: (kinds.get(name, "string"), text) for name, text in START_OPTIONS.items()}
        job = {
            "notebook": ("string", "path in the session's file browser"),
            "gpus": ("integer", "number of GPUs, 1 without it"),
            "nodes": ("integer", "number of nodes, 1 without it"),
            "hours": ("number", "time limit, 8 without it"),
            "parameters": ("object", "parameters of the notebook, such as lr"),
            "at": ("string", "begin then, such as 04:00 by the clock of the cluster"),
            "every": ("string", "run it again and again: day, or one such as monday"),
        }
        cell = {
            "code": ("string", "Python code"),
            "notebook": ("string", "an open notebook whose kernel runs it; else an own kernel"),
            "timeout_s": ("number", "then it is interrupted; 60 without it"),
        }
        path = {"path": ("string", "file or folder, relative to the top of the file browser")}
        which = {"job": ("string", "number, or a part of a run's name; without it the newest")}
        return [
            Tool("list_sessions", "Lists sessions that run or wait.", self._list_sessions, {}),
            Tool("why", "Says why a session waits or did not start.", self._why, session),
            Tool(
                "read_file",
                "Reads a text file or lists a folder.",
                self._read_file,
                path | session,
                ("path",),
            ),
            Tool("list_jobs", "Lists jobs and runs, and why they wait.", self._list_jobs, session),
            Tool(
                "job_output",
                "Reads the end of the output of a job or run.",
                self._job_output,
                which | session,
            ),
            Tool(
                "start_session",
                "Asks for a session, which may wait in the queue.",
                self._start_session,
                start | session,
            ),
            Tool(
                "stop_session",
                "Stops a session or takes it out of the queue.",
                self._stop_session,
                session,
            ),
            Tool(
                "run_cell",
                "Runs Python code in a session and returns what it shows.",
                self._run_cell,
                cell | session,
                ("code",),
            ),
            Tool(
                "submit_job",
                "Runs a notebook as a Slurm job.",
                self._submit_job,
                job | session,
                ("notebook",),
            ),
        ]

    def _session(self, name: str | None) -> Session:
        if name is None:
            return Session(self.portal)
        return Session(replace(self.portal, host=replace(self.portal.host, session=name)))

    def _list_sessions(self, _: threading.Event) -> str:
        lines = (
            f"{one['name'] or '(no name)'} {one['state']} {one['options']}"
            for one in list_sessions(self.portal)
        )
        return "\n".join(lines) or "No session runs or waits."

    def _why(self, _: threading.Event, session: str | None = None) -> str:
        return said(self._session(session).why())

    def _start_session(
        self, _: threading.Event, session: str | None = None, **options: object
    ) -> str:
        asked = self._session(session)
        asked.start({name: str(value) for name, value in options.items()})
        return f"Asked for. {said(asked.why())}"

    def _stop_session(self, _: threading.Event, session: str | None = None) -> str:
        self._session(session).stop()
        return "The session has stopped."

    def _list_jobs(self, _: threading.Event, session: str | None = None) -> str:
        return work.describe_work(work.RemoteWork(self._session(session)).list_work())

    def _job_output(self, _: threading.Event, session: str | None = None, job: str = "") -> str:
        pieces: list[str] = []
        work.follow(work.RemoteWork(self._session(session)), job, pieces.append, to_its_end=False)
        return "".join(pieces) or "It has printed nothing."

    def _submit_job(
        self, _: threading.Event, notebook: str, session: str | None = None, **order: Any
    ) -> str:
        return str(work.submit_job(self._session(session), notebook, **order)["message"])

    def _run_cell(
        self,
        cancelled: threading.Event,
        code: str,
        notebook: str = "",
        session: str | None = None,
        timeout_s: float = 60.0,
    ) -> str:
        return self.cells.run(self._session(session), code, notebook, timeout_s, cancelled)

    def _read_file(self, _: threading.Event, path: str, session: str | None = None) -> str:
        parts = PurePosixPath(path).parts
        if path.startswith("/") or ".." in parts or "\\" in path:
            raise LaptopError(f"{path} is outside of the file browser. Give a path without ..")
        asked = self._session(session)
        route = f"api/contents/{quote('/'.join(parts))}"
        found = asked.ask("GET", f"{route}?content=0")
        if found["type"] == "directory":
            inside = asked.ask("GET", f"{route}?content=1")["content"]
            return "\n".join(sorted(f"{one['name']} ({one['type']})" for one in inside)) or "Empty."
        if (found.get("size") or 0) > _MOST_BYTES:
            raise LaptopError(f"{path} has {found['size']} bytes, more than {_MOST_BYTES}.")
        return str(asked.ask("GET", f"{route}?type=file&format=text")["content"])
