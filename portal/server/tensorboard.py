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
from portal.server.logdir import Logdir

_PROGRAM = Path(__file__).with_name("tensorboard_process.py")
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
        """End its process, at the latest after 3 s."""
        if not self.is_running:
            return
        self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), _STOP_TIMEOUT_S)
        except asyncio.TimeoutError:
            self.process.kill()


async def start_tensorboard(
    logdirs: tuple[Logdir, ...],
    *,
    board_id: str,
    python: str,
    private_dir: Path,
    base_url: str,
    timeout_s: float,
) -> TensorBoard:
    """Start a TensorBoard and wait until it answers.

    Runs on the main thread only: the process ends with the thread that started it.

    Args:
        logdirs: What it shows; several folders appear as runs beside each other.
        board_id: Its name in the address, which nobody can guess.
        python: Python of the environment that has tensorboard.
        private_dir: Folder that only the user can enter.
        base_url: Path of the notebook server, with a slash at both ends.
        timeout_s: Seconds that the start may take.

    Returns:
        The TensorBoard.

    Raises:
        TensorBoardError: If it does not start in time, with its last words.
    """
    path_prefix = f"{base_url}portal/tensorboards/{board_id}"
    board_dir = private_dir / secrets.token_hex(4)
    board_dir.mkdir(mode=0o700)
    socket_path = board_dir / "socket"
    log_path = board_dir / "log"
    request = {
        "logdir": str(_folder_to_read(logdirs, board_dir / "runs")),
        "socket": str(socket_path),
        "path_prefix": path_prefix,
        "title": f"{', '.join(logdir.path.name for logdir in logdirs)} - TensorBoard",
        "parent_pid": os.getpid(),
    }
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(shutil.rmtree, board_dir, ignore_errors=True)
        process = await _run([python, "-I", str(_PROGRAM)], log_path)
        on_failure.callback(_kill, process)
        try:
            note = await asyncio.wait_for(_hand_over(process, request, log_path), timeout_s)
        except asyncio.TimeoutError:
            raise TensorBoardError(
                f"TensorBoard did not start within {timeout_s:g} s. "
                f"Try again when the node is less busy.{_last_words(log_path)}"
            ) from None
        on_failure.pop_all()
    return TensorBoard(
        id=board_id,
        logdirs=logdirs,
        path_prefix=path_prefix,
        socket_path=socket_path,
        note=note,
        process=process,
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


async def _run(argv: list[str], log_path: Path) -> Process:
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        with log_path.open("wb") as log:
            return await asyncio.create_subprocess_exec(
                *argv, stdin=PIPE, stdout=PIPE, stderr=log, env=environment, cwd="/"
            )
    except OSError as error:
        raise TensorBoardError(
            f"TensorBoard cannot be started with {argv[0]} ({error.strerror}). "
            "Tell the administrators: PORTAL_TENSORBOARD_PYTHON names a Python with tensorboard."
        ) from error


async def _hand_over(process: Process, request: dict[str, Any], log_path: Path) -> str:
    """Tell the process what to serve and wait until it does.

    Returns:
        Its note.

    Raises:
        TensorBoardError: If it ended instead.
    """
    answer = b""
    if process.stdin is not None and process.stdout is not None:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.close()
        answer = await process.stdout.readline()
    if not answer:
        status = await process.wait()
        raise TensorBoardError(
            f"TensorBoard ended with exit status {status} before it could be used. "
            f"Tell the administrators.{_last_words(log_path)}"
        )
    return str(json.loads(answer)["note"])


def _kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()


def _last_words(log_path: Path) -> str:
    text = log_path.read_text(encoding="utf-8", errors="replace").strip()
    return f" Its last words: {text[-_LAST_WORDS_CHARS:]}" if text else ""
