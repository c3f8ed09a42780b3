"""The tools that the model may ask for, each of which the user allows."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsportal import tool
from dsportal.errors import SessionError
from dsportal.notebook.notebook_job import find_command
from dsportal.tool import Excerpt

from .endpoint import Message
from .permission import RefusedError

_MOST_BYTES = 10_000_000
_TIMEOUT_S = 90
_JOB = re.compile(r"[\w.][\w.+-]*|")
_PATH = ("string", "below the home; relative to the notebook's folder")


@dataclass(frozen=True)
class Tool(tool.Tool):
    """What the model may ask for.

    Attributes:
        prepare: Returns the arguments as the user is to see them and `run` to get them.
    """

    prepare: Callable[..., dict[str, Any]] = dict

    def describe(self) -> Message:
        """Return it as the model is told of it."""
        function = {"name": self.name, "description": self.text, "parameters": self.schema()}
        return {"type": "function", "function": function}

    def parse(self, text: str) -> dict[str, Any]:
        """Return the arguments of a call; what it does not take is refused."""
        try:
            given = json.loads(text or "{}")
        except ValueError:
            given = None
        if refusal := self.refusal(given):
            raise RefusedError(refusal)
        return self.prepare(**given)


def make_tools(shell: Any) -> list[Tool]:
    """Return all tools for IPython's `shell`."""
    job = {
        "notebook": _PATH,
        "gpus": ("integer", "number of GPUs, 1 without it"),
        "nodes": ("integer", "number of nodes, 1 without it"),
        "hours": ("number", "time limit, 1 without it"),
        "parameters": ("object", "parameters of the notebook, such as lr"),
    }
    return [
        Tool(
            "run_cell",
            "Runs Python in the user's kernel, and returns what it shows.",
            lambda code: run_cell(shell, code),
            {"code": ("string", "the cell")},
            ("code",),
        ),
        Tool(
            "read_file",
            "Reads a text file, or lists a folder.",
            read_file,
            {"path": _PATH},
            ("path",),
            lambda path: {"path": str(below_home(path))},
        ),
        Tool(
            "list_jobs",
            "Lists the user's jobs and runs, why they wait, and their place in the queue.",
            lambda: ask_dsportal(["jobs"]),
            {},
        ),
        Tool(
            "job_output",
            "Reads the end of the output of a job or a run.",
            lambda job="": ask_dsportal(["logs", *filter(None, [job])]),
            {"job": ("string", "number, or a part of a run's name; without it the newest")},
            prepare=_job,
        ),
        Tool(
            "submit_job",
            "Queues a notebook as a Slurm job, with the user's limits and budget.",
            submit_job,
            job,
            ("notebook",),
            lambda notebook, **order: {"notebook": str(below_home(notebook)), **order},
        ),
    ]


class _Tee(io.TextIOBase):
    def __init__(self, file: Any, shown: Excerpt) -> None:
        self._file, self._shown = file, shown

    def write(self, text: str) -> int:
        self._shown.add(text)
        return int(self._file.write(text) or 0)

    def flush(self) -> None:
        self._file.flush()


def run_cell(shell: Any, code: str) -> str:
    """Run a cell in IPython's `shell`; the user sees it as it runs.

    Raises:
        KeyboardInterrupt: If the user has interrupted it.
    """
    shown = Excerpt()
    with (
        contextlib.redirect_stdout(_Tee(sys.stdout, shown)),
        contextlib.redirect_stderr(_Tee(sys.stderr, shown)),
    ):
        result = shell.run_cell(code)
    error = result.error_in_exec or result.error_before_exec
    if isinstance(error, KeyboardInterrupt):
        raise KeyboardInterrupt
    if error is not None:
        shown.add("".join(traceback.format_exception(error)))
    elif result.result is not None:
        # What an object says of itself may fail.
        with contextlib.suppress(Exception):
            shown.add(repr(result.result))
    return str(shown) or "It has shown nothing."


def below_home(text: str) -> Path:
    """Return the real path of a file.

    Raises:
        RefusedError: If it is outside the home or hidden, as keys are.
    """
    home = Path.home().resolve()
    try:
        path = (Path.cwd() / Path(text).expanduser()).resolve()
        inside = path.relative_to(home)
    except (OSError, RuntimeError, ValueError):
        raise RefusedError(f"{text} is not below the home of the user.") from None
    if any(part.startswith(".") for part in inside.parts):
        raise RefusedError(f"{text} is hidden, or in a hidden folder.")
    return path


def read_file(path: str) -> str:
    """Return a text file, or the names in a folder."""
    place = Path(path)
    try:
        if place.is_dir():
            names = sorted(name for name in os.listdir(place) if not name.startswith("."))
            return "\n".join(names) or "It is empty."
        # A pipe would keep the kernel waiting.
        if not place.is_file():
            raise RefusedError(f"There is no file {path}.")
        with place.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror}.") from error


def _job(job: str = "") -> dict[str, Any]:
    if not _JOB.fullmatch(job):
        raise RefusedError(f"{job!r:.80} is neither the number of a job nor the name of a run.")
    return {"job": job} if job else {}


def submit_job(
    notebook: str,
    gpus: int = 1,
    nodes: int = 1,
    hours: float = 1,
    parameters: Mapping[str, Any] | None = None,
) -> str:
    """Queue a notebook with `parameters` by their names."""
    given = [
        word
        for name, value in (parameters or {}).items()
        for word in ("-p", f"{name}={json.dumps(value)}")
    ]
    size = [f"--gpus={gpus}", f"--nodes={nodes}", f"--hours={hours}"]
    return ask_dsportal(["job", "new", *size, notebook, *given])


def ask_dsportal(words: Sequence[str]) -> str:
    """Return what the command of sessions prints, as in a terminal of the user's."""
    try:
        done = subprocess.run(
            [find_command(os.environ), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except SessionError as error:
        raise RefusedError(error.message) from error
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise RefusedError(f"dsportal gave no answer: {error}") from error
    if done.returncode:
        raise RefusedError(done.stderr.strip() or "dsportal has failed, and does not say why.")
    return done.stdout or "It has printed nothing."
