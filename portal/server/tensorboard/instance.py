"""One TensorBoard: how its process is started, and what is known about it."""

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

from portal.server.errors import TensorBoardError
from portal.server.tensorboard.logdir import Logdir

_PROGRAM = Path(__file__).with_name("process.py")
# Tokens of the session stay out of it.
_KEPT_VARIABLES = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
_LAST_WORDS_CHARS = 500
_STOP_TIMEOUT_S = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorBoard:
    """A TensorBoard that answers.

    Attributes:
        id: Its name in the address. It cannot be guessed, so another page that the user visits on
            the same host cannot ask for its data.
        logdirs: The folders that it shows.
        path_prefix: Path of its pages on the notebook server, without a slash at the end.
        socket_path: The unix socket that it listens on.
        note: A sentence for the user where something is slower than it should be, else "".
        process: Its process, a child of the notebook server.
    """

    id: str
    logdirs: tuple[Logdir, ...]
    path_prefix: str
    socket_path: Path
    note: str
    process: Process = field(repr=False)

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self.process.returncode is None

    @property
    def folders(self) -> str:
        """The folders that it shows, for people."""
        return ", ".join(logdir.name for logdir in self.logdirs)

    def as_json(self) -> dict[str, Any]:
        """Return what the REST interface says about it.

        Returns:
            `id`; `logdir`, of several folders the one that holds them; `logdirs`; `url`; `note`.
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
        """Ask its process to end, and kill it after 3 s."""
        if not self.is_running:
            return
        self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), _STOP_TIMEOUT_S)
        except TimeoutError:
            await _kill(self.process)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spare:
    """A process that has loaded TensorBoard, or is about to, and waits for what to show.

    Attributes:
        process: The process, a child of the notebook server.
        folder: Its own folder, for its socket and its log.
    """

    process: Process = field(repr=False)
    folder: Path

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self.process.returncode is None

    async def discard(self) -> None:
        """End it and remove its folder."""
        if self.is_running:
            await _kill(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def last_words(self) -> str:
        """Return the end of its log as a sentence, or nothing."""
        text = (self.folder / "log").read_text(encoding="utf-8", errors="replace").strip()
        return f" Its last words: {text[-_LAST_WORDS_CHARS:]}" if text else ""


async def _kill(process: Process) -> None:
    process.kill()
    # A process that a dead file server holds ends when that server answers.
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), _STOP_TIMEOUT_S)


async def start_spare(*, python: str, private_dir: Path) -> Spare:
    """Start a process that shows nothing yet.

    Runs on the main thread only: the process ends with the thread that started it.

    Args:
        python: Python of the environment that has tensorboard.
        private_dir: Folder that only the user can enter.

    Returns:
        The process.

    Raises:
        TensorBoardError: If there is no such Python.
    """
    folder = private_dir / secrets.token_hex(4)
    folder.mkdir(mode=0o700)
    argv = [python, "-I", str(_PROGRAM), str(os.getpid())]
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        with (folder / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=PIPE, stdout=PIPE, stderr=log, env=environment, cwd="/"
            )
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise TensorBoardError(
            f"TensorBoard cannot be started with {python} ({error.strerror}). "
            "Tell the administrators: PORTAL_TENSORBOARD_PYTHON names a Python with tensorboard."
        ) from error
    return Spare(process=process, folder=folder)


async def start_tensorboard(
    logdirs: tuple[Logdir, ...],
    spare: Spare,
    *,
    board_id: str,
    base_url: str,
    program_path: str,
    timeout_s: float,
) -> TensorBoard:
    """Have a process show folders and wait until it answers.

    Args:
        logdirs: What it shows; several folders appear as runs beside each other.
        spare: The process; it is ended where this fails.
        board_id: Its name in the address, which nobody can guess.
        base_url: Path of the notebook server, with a slash at both ends.
        program_path: Path of TensorBoard's script in the browser; empty where it serves its own.
        timeout_s: Seconds that the start may take.

    Returns:
        The TensorBoard.

    Raises:
        TensorBoardError: If it does not start in time, with its last words.
    """
    path_prefix = f"{base_url}portal/tensorboards/{board_id}"
    socket_path = spare.folder / "socket"
    request = {
        "logdir": str(_folder_to_read(logdirs, spare.folder / "runs")),
        "socket": str(socket_path),
        "path_prefix": path_prefix,
        "title": f"{', '.join(logdir.path.name for logdir in logdirs)} - TensorBoard",
        "program_path": program_path,
    }
    async with contextlib.AsyncExitStack() as on_failure:
        on_failure.push_async_callback(spare.discard)
        try:
            note = await asyncio.wait_for(_hand_over(spare, request), timeout_s)
        except TimeoutError:
            raise TensorBoardError(
                f"TensorBoard did not start within {timeout_s:g} s. "
                f"Try again when the node is less busy.{spare.last_words()}"
            ) from None
        on_failure.pop_all()
    return TensorBoard(
        id=board_id,
        logdirs=logdirs,
        path_prefix=path_prefix,
        socket_path=socket_path,
        note=note,
        process=spare.process,
    )


def _folder_to_read(logdirs: tuple[Logdir, ...], links_dir: Path) -> Path:
    """Return the one folder, or a folder of links to each of them."""
    if len(logdirs) == 1:
        return logdirs[0].path
    common = os.path.commonpath([logdir.path for logdir in logdirs])
    links_dir.mkdir(mode=0o700)
    for logdir in logdirs:
        name = os.path.relpath(logdir.path, common).replace("/", "_")
        # Folders called a/b_c and a_b/c would have one name.
        free = (links_dir / f"{name}{ending}" for ending in ("", *(f"-{n}" for n in range(2, 99))))
        next(link for link in free if not link.is_symlink()).symlink_to(logdir.path)
    return links_dir


async def _hand_over(spare: Spare, request: dict[str, Any]) -> str:
    """Tell the process what to serve and wait until it does.

    Returns:
        Its note.

    Raises:
        TensorBoardError: If it ended instead.
    """
    process, answer = spare.process, b""
    if process.stdin is not None and process.stdout is not None:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.close()
        answer = await process.stdout.readline()
    if not answer:
        status = await process.wait()
        raise TensorBoardError(
            f"TensorBoard ended with exit status {status} before it could be used. "
            f"Tell the administrators.{spare.last_words()}"
        )
    return str(json.loads(answer)["note"])
