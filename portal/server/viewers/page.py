"""One process that shows folders: started ahead as a spare, then told which to show."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from portal.server.base.child_process import bound
from portal.server.base.errors import ViewerError
from portal.server.viewers.folder import Folder
from portal.server.viewers.viewer import Viewer

# An allow-list, which keeps the session's tokens out of the process.
_KEPT_VARIABLES = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
_SHOWN_LOG_CHARS = 500
_STOP_TIMEOUT_S = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPage:
    """A viewer that shows folders and answers requests.

    Attributes:
        id: Its name in the URL. It cannot be guessed, so a page of another user on the same host
            cannot request its data.
        path_prefix: URL path of its pages, without a slash at the end.
        note: A sentence for the user if something is slower than it should be, else "".
        process: A child of the notebook server.
    """

    id: str
    logdirs: tuple[Folder, ...]
    path_prefix: str
    socket_path: Path
    note: str
    process: Process = field(repr=False)

    @property
    def is_running(self) -> bool:
        """Whether its process is alive."""
        return self.process.returncode is None

    @property
    def folders(self) -> str:
        """The names of its folders, for people."""
        return ", ".join(logdir.name for logdir in self.logdirs)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values.

        Returns:
            `id`; `logdir`, the common parent if there are several; `logdirs`; `url`; `note`.
        """
        names = [logdir.name for logdir in self.logdirs]
        return {
            "id": self.id,
            "logdir": os.path.commonpath(names),
            "logdirs": names,
            "url": f"{self.path_prefix}/",
            "note": self.note,
        }

    async def stop(self) -> None:
        """Terminate its process, and kill it after 3 s."""
        if not self.is_running:
            return
        self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), _STOP_TIMEOUT_S)
        except TimeoutError:
            await _kill(self.process)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spare:
    """A process that has loaded its viewer (or is loading it) and waits for folders to show.

    Attributes:
        viewer: What it is.
        process: A child of the notebook server.
        folder: Private to this process: its socket and its log.
    """

    viewer: Viewer
    process: Process = field(repr=False)
    folder: Path

    @property
    def is_running(self) -> bool:
        """Whether its process is alive."""
        return self.process.returncode is None

    async def discard(self) -> None:
        """Kill it and remove its folder."""
        if self.is_running:
            await _kill(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def log_sentence(self) -> str:
        """Return the end of its log, to follow a sentence about its failure; "" if it is empty."""
        text = (self.folder / "log").read_text(encoding="utf-8", errors="replace").strip()
        return f" The end of its log: {text[-_SHOWN_LOG_CHARS:]}" if text else ""


async def _kill(process: Process) -> None:
    process.kill()
    # A process in uninterruptible sleep on a dead file server ends only once that server answers.
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), _STOP_TIMEOUT_S)


async def start_spare(viewer: Viewer, *, python: str, private_dir: Path) -> Spare:
    """Start a process that shows nothing yet.

    Call it on the main thread: the process is killed when the thread that started it ends.

    Args:
        viewer: What to start.
        python: Path of the Python in its environment.
        private_dir: Folder that only the user can enter.
    """
    if not os.access(python, os.X_OK):
        raise ViewerError(
            f"{viewer.title} cannot be started: {python} is no program on this node. "
            "Tell the administrators: [environments] of portal.toml names its environment."
        )
    folder = private_dir / secrets.token_hex(4)
    folder.mkdir(mode=0o700)
    # Isolated, so that nothing of the user's (PYTHONPATH, user site) is imported into it.
    argv = bound(
        [python, "-I", str(viewer.program)], has_private_network=viewer.has_private_network
    )
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=PIPE, stdout=PIPE, stderr=log, env=environment, cwd="/"
        )
    return Spare(viewer=viewer, process=process, folder=folder)


async def start_page(
    logdirs: tuple[Folder, ...],
    spare: Spare,
    *,
    page_id: str,
    base_url: str,
    program_path: str,
    timeout_s: float,
) -> FolderPage:
    """Have a spare show folders, and wait until it answers.

    Args:
        logdirs: Several folders appear as runs next to each other.
        spare: Killed and removed if this fails.
        page_id: Its name in the URL, impossible to guess.
        base_url: Path of the notebook server, with a slash at both ends.
        program_path: URL path of the shared script; empty if the process serves its own.
        timeout_s: Limit for the whole start.
    """
    title = spare.viewer.title
    path_prefix = f"{base_url}{spare.viewer.route}/{page_id}"
    socket_path = spare.folder / "socket"
    request = {
        "logdir": str(_folder_to_read(logdirs, spare.folder / "runs")),
        "socket": str(socket_path),
        "path_prefix": path_prefix,
        "title": f"{', '.join(logdir.path.name for logdir in logdirs)} - {title}",
        "program_path": program_path,
    }
    async with contextlib.AsyncExitStack() as on_failure:
        on_failure.push_async_callback(spare.discard)
        try:
            note = await asyncio.wait_for(_hand_over(spare, request), timeout_s)
        except TimeoutError:
            raise ViewerError(
                f"{title} did not start within {timeout_s:g} s. "
                f"Try again when the node is less busy.{spare.log_sentence()}"
            ) from None
        on_failure.pop_all()
    return FolderPage(
        id=page_id,
        logdirs=logdirs,
        path_prefix=path_prefix,
        socket_path=socket_path,
        note=note,
        process=spare.process,
    )


def _folder_to_read(logdirs: tuple[Folder, ...], links_dir: Path) -> Path:
    """Return the only folder, or a new folder of links to all of them."""
    if len(logdirs) == 1:
        return logdirs[0].path
    common = os.path.commonpath([logdir.path for logdir in logdirs])
    links_dir.mkdir(mode=0o700)
    for logdir in logdirs:
        name = os.path.relpath(logdir.path, common).replace("/", "_")
        # a/b_c and a_b/c would otherwise get the same name.
        free = (links_dir / f"{name}{ending}" for ending in ("", *(f"-{n}" for n in range(2, 99))))
        next(link for link in free if not link.is_symlink()).symlink_to(logdir.path)
    return links_dir


async def _hand_over(spare: Spare, request: dict[str, Any]) -> str:
    """Send the process its request, and return its note once it listens."""
    process, answer = spare.process, b""
    if process.stdin is not None and process.stdout is not None:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.close()
        # Empty if the process ends before it listens.
        answer = await process.stdout.readline()
    if not answer:
        status = await process.wait()
        raise ViewerError(
            f"{spare.viewer.title} ended with exit status {status} before it could be used. "
            f"Tell the administrators.{spare.log_sentence()}"
        )
    return str(json.loads(answer)["note"])
