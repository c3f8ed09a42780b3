"""One process that shows folders; it may be started ahead, before it is told which."""

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

from dsportal.slurm.errors import PortalError
from portal.server.base.child_process import bound
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


async def _kill(process: Process) -> None:
    process.kill()
    # A process in uninterruptible sleep on a dead file server ends only once that server answers.
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), _STOP_TIMEOUT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A process that loads its viewer and waits for folders to show.

    Attributes:
        folder: Private to this process: its socket and its log.
    """

    viewer: Viewer
    folder: Path
    process: Process = field(repr=False)

    @property
    def is_running(self) -> bool:
        """Whether its process is alive."""
        return self.process.returncode is None

    async def discard(self) -> str:
        """Kill it and remove its folder; return the end of its log as a sentence, or ""."""
        if self.is_running:
            await _kill(self.process)
        sentence = _log_sentence(self.folder / "log")
        shutil.rmtree(self.folder, ignore_errors=True)
        return sentence


async def start_process(viewer: Viewer, *, python: str, private_dir: Path) -> Started:
    """Start a viewer that shows nothing yet.

    Call it on the main thread: the process is killed when the thread that started it ends.

    Args:
        python: Path of the Python in its environment.
        private_dir: Folder that only the user can enter; gets a folder for socket and log.
    """
    if not os.access(python, os.X_OK):
        raise PortalError(
            f"{viewer.title} cannot be started: {python} is no program on this node. "
            "Tell the administrators: [environments] of portal.toml names its environment."
        )
    folder = private_dir / secrets.token_hex(4)
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise PortalError(
            f"{viewer.title} needs a folder for its socket, and none can be made on this node "
            f"({error}). Tell the administrators."
        ) from error
    # Isolated, so that nothing of the user's (PYTHONPATH, user site) is imported into it.
    argv = bound(
        [python, "-I", str(viewer.program)], has_private_network=viewer.has_private_network
    )
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=PIPE, stdout=PIPE, stderr=log, env=environment, cwd="/"
        )
    return Started(viewer=viewer, folder=folder, process=process)


async def show(
    started: Started,
    logdirs: tuple[Folder, ...],
    *,
    page_id: str,
    base_url: str,
    timeout_s: float,
) -> FolderPage:
    """Have a process show folders, and wait until it answers; it is discarded if this fails.

    Args:
        started: The process, which shows nothing yet.
        logdirs: Several folders appear as runs next to each other.
        page_id: Its name in the URL, impossible to guess.
        base_url: Path of the notebook server, with a slash at both ends.
    """
    viewer, folder = started.viewer, started.folder
    path_prefix = f"{base_url}{viewer.route}/{page_id}"
    try:
        request = {
            "logdir": str(_folder_to_read(logdirs, folder / "runs")),
            "socket": str(folder / "socket"),
            "path_prefix": path_prefix,
            "title": f"{', '.join(logdir.path.name for logdir in logdirs)} - {viewer.title}",
        }
        note = await asyncio.wait_for(_hand_over(started.process, request), timeout_s)
    except BaseException as error:
        sentence = await started.discard()
        if isinstance(error, TimeoutError):
            raise PortalError(
                f"{viewer.title} did not start within {timeout_s:g} s. "
                f"Try again when the node is less busy.{sentence}"
            ) from None
        if isinstance(error, _EndedError):
            raise PortalError(
                f"{viewer.title} ended with exit status {started.process.returncode} before it "
                f"could be used. Tell the administrators.{sentence}"
            ) from None
        raise
    return FolderPage(
        id=page_id,
        logdirs=logdirs,
        path_prefix=path_prefix,
        socket_path=folder / "socket",
        note=note,
        process=started.process,
    )


class _EndedError(Exception):
    """The process ended before it listened."""


def _log_sentence(path: Path) -> str:
    """Return the end of a log, to follow a sentence about a failure; "" if it is empty."""
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    return f" The end of its log: {text[-_SHOWN_LOG_CHARS:]}" if text else ""


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


async def _hand_over(process: Process, request: dict[str, Any]) -> str:
    """Send the process its request, and return its note once it listens."""
    answer = b""
    if process.stdin is not None and process.stdout is not None:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.close()
        # Empty if the process ends before it listens.
        answer = await process.stdout.readline()
    if not answer:
        await process.wait()
        raise _EndedError
    return str(json.loads(answer)["note"])
