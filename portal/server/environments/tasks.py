"""Runs `dsportal environments` for the dialogs, one command at a time, and keeps what it prints."""

import asyncio
import logging
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from portal.environments.errors import RegistryError
from portal.environments.registry import OWN_PATH, read_tables
from portal.server.environments.order import Action, Order

_PROGRAM = "import sys; from portal.cli import user_main; sys.exit(user_main())"
_PREFIX = "dsportal: "
_MAX_ANSWER_BYTES = 256 * 1024
_MAX_LINE_BYTES = 4096
# Removes what is half-made, be it on a slow file system.
_STOP_TIMEOUT_S = 10
_KEPT = 20

# Steps for the progress bar, and what the command prints when each begins.
_MAKE = (
    ("Preparing", ""),
    ("Choosing versions", "Choosing versions."),
    ("Downloading packages", "Installing."),
    # uv says so if something had to be downloaded.
    ("Installing packages", "Prepared "),
    ("Trying the kernel", "Trying the kernel."),
)
STEPS = {
    Action.NEW: _MAKE,
    Action.UPDATE: _MAKE,
    Action.ADD_IMAGE: (
        ("Preparing", ""),
        ("Downloading the image", "Making an image from"),
        ("Writing the image file", "Creating SIF file"),
        ("Installing ipykernel", "Installing ipykernel"),
        ("Trying the kernel", "Trying the kernel."),
    ),
    Action.REMOVE: (("Removing", ""),),
    Action.SHARE: (("Sharing", ""),),
    Action.UNSHARE: (("Taking back", ""),),
}


class State(Enum):
    """How far a task is."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(slots=True, kw_only=True)
class Task:
    """A command that runs or ran.

    Attributes:
        id: Random: a tab may still know those of an earlier session.
        sentence: Its last line, once it has ended.
    """

    id: str
    order: Order
    log: Path
    process: asyncio.subprocess.Process
    state: State = State.RUNNING
    sentence: str = ""
    is_cancelled: bool = False
    ending: asyncio.Task[None] | None = field(default=None, repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        steps = STEPS[self.order.action]
        step = current_step(self.order.action, self._read_log(0))
        is_done = self.state is State.DONE
        return {
            "id": self.id,
            "action": self.order.action.value,
            "name": self.order.id,
            "kernel": f"own-{self.order.id}",
            "state": self.state.value,
            "step": steps[step][0],
            "n_steps_done": len(steps) if is_done else step,
            "n_steps": len(steps),
            "sentence": self.sentence,
        }

    def output(self, offset: int) -> dict[str, Any]:
        """Return what was printed from byte `offset` on, in whole lines, and the next offset."""
        printed = self._read_log(offset)
        if self.state is State.RUNNING:
            printed = printed[: printed.rfind(b"\n") + 1]
        return {"text": printed.decode("utf-8", "replace"), "offset": offset + len(printed)}

    def last_line(self) -> str:
        """Return the last line that it has printed, or ""."""
        tail = self._read_log(max(0, self.log.stat().st_size - _MAX_LINE_BYTES))
        lines = tail.decode("utf-8", "replace").splitlines()
        return next((line for line in reversed(lines) if line.strip()), "")

    def _read_log(self, offset: int) -> bytes:
        with self.log.open("rb") as file:
            file.seek(offset)
            return file.read(_MAX_ANSWER_BYTES)


class Tasks:
    """The tasks of a session.

    Args:
        folder: For their logs, which only the user can read; made when the first one starts.
        on_end: Called after each task, before it counts as ended.
    """

    def __init__(
        self, folder: Path, *, on_end: Callable[[], Awaitable[None]], log: logging.Logger
    ) -> None:
        self._folder = folder
        self._on_end = on_end
        self._log = log
        self._tasks: dict[str, Task] = {}
        self._starting = asyncio.Lock()

    @property
    def is_running(self) -> bool:
        """Whether a task runs."""
        return any(task.state is State.RUNNING for task in self._tasks.values())

    def list_tasks(self) -> list[Task]:
        """Return the tasks, the oldest first."""
        return list(self._tasks.values())

    def task(self, id_: str) -> Task:
        """Return a task."""
        if id_ not in self._tasks:
            raise RegistryError("There is no such task in this session. Reload the page.")
        return self._tasks[id_]

    async def start(self, order: Order) -> Task:
        """Start a task."""
        async with self._starting:
            return await self._start(order)

    async def _start(self, order: Order) -> Task:
        running = next((t for t in self._tasks.values() if t.state is State.RUNNING), None)
        if running is not None:
            raise RegistryError(
                f"One at a time: the environment {running.order.id} is being worked on. Wait for "
                "it, or cancel it."
            )
        if order.is_added:
            tables = await asyncio.to_thread(read_tables, Path.home() / OWN_PATH)
            if order.id in tables:
                raise RegistryError(
                    f"You have an environment '{order.id}' already. Choose another name, or remove "
                    "that one first."
                )
        self._folder.mkdir(mode=0o700, exist_ok=True)
        id_ = secrets.token_hex(4)
        log = self._folder / f"{id_}.log"
        with log.open("xb") as output:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", _PROGRAM, "environments", *order.words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # What it imports must not come from somebody's folder.
                cwd="/",
                env={**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"},
                # uv and apptainer end with it.
                start_new_session=True,
            )
        task = Task(id=id_, order=order, log=log, process=process)
        self._tasks[id_] = task
        task.ending = asyncio.create_task(self._follow(task))
        self._forget()
        return task

    def _forget(self) -> None:
        for id_ in list(self._tasks)[:-_KEPT]:
            self._tasks.pop(id_).log.unlink(missing_ok=True)

    async def _follow(self, task: Task) -> None:
        status = await task.process.wait()
        try:
            await self._on_end()
        except OSError as error:
            self._log.warning("The kernels cannot be described: %s", error)
        task.sentence = task.last_line().removeprefix(_PREFIX)
        if status == 0:
            task.state = State.DONE
        elif task.is_cancelled:
            task.state = State.CANCELLED
            task.sentence = "Cancelled. Everything is as it was."
        else:
            task.state = State.FAILED

    def cancel(self, id_: str) -> None:
        """End a task; the command removes what it has half-made."""
        task = self.task(id_)
        if task.process.returncode is None:
            task.is_cancelled = True
            os.killpg(task.process.pid, signal.SIGTERM)

    async def stop(self) -> None:
        """End what runs, at the end of the session."""
        running = [task for task in self._tasks.values() if task.process.returncode is None]
        for task in running:
            self.cancel(task.id)
        endings = [task.ending for task in running if task.ending is not None]
        if endings:
            await asyncio.wait(endings, timeout=_STOP_TIMEOUT_S)


def current_step(action: Action, printed: bytes) -> int:
    """Return the number of the step that a command is at, from 0, by what it has printed.

    >>> current_step(Action.NEW, b"Making nlp. Choosing versions.")
    1
    """
    begun = [i for i, (_, mark) in enumerate(STEPS[action]) if mark.encode() in printed]
    return max(begun, default=0)
