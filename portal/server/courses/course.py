"""Fetches a course into the user's home, by nbgitpuller."""

import asyncio
import os
import stat
import sys
from pathlib import Path

from dsportal.slurm.errors import OptionsError
from portal.server.courses.course_link import CourseLink

FETCH_TIMEOUT_S = 15 * 60.0
_LOG_CHARS = 400
# Prints what git said, not a traceback.
_PROGRAM = """
import logging, sys
from nbgitpuller.pull import GitPuller
logging.disable()
url, folder, branch = sys.argv[1:]
try:
    for line in GitPuller(url, folder, branch=branch or None).pull():
        print(line.rstrip(), flush=True)
except Exception as error:
    cause = error.__context__ or error
    sys.exit(getattr(cause, "stderr", None) or str(cause) or type(cause).__name__)
"""


class Courses:
    """Fetches courses, one at a time."""

    def __init__(self, root_dir: Path) -> None:
        self._root_dir = root_dir
        self._one_at_a_time = asyncio.Lock()

    async def fetch(self, course: CourseLink) -> None:
        """Clone a course, or bring its folder up to date; what the user changed there stays."""
        async with self._one_at_a_time:
            folder = self._root_dir / course.folder
            await asyncio.to_thread(self._check_way, folder)
            if folder.exists():
                await _check_origin(folder, course)
            argv = [sys.executable, "-I", "-c", _PROGRAM]
            argv += [course.repository, str(folder), course.branch]
            status, said = await _run(argv)
            if status:
                raise OptionsError(
                    f"{course.repository} could not be fetched into {course.folder}. Check the"
                    f" link, or ask for a course that needs no password. Git said: {said}"
                )

    def _check_way(self, folder: Path) -> None:
        """Refuse a place that is no folder, or that a link leads out of the home."""
        names = folder.relative_to(self._root_dir).parts
        for n in range(1, len(names) + 1):
            part = self._root_dir.joinpath(*names[:n])
            try:
                mode = part.lstat().st_mode
            except FileNotFoundError:
                return
            if not stat.S_ISDIR(mode):
                raise OptionsError(
                    f"The course would go through {part.relative_to(self._root_dir)}, which is a"
                    " link or a file. Rename it, or ask for a link that names another folder."
                )


async def _check_origin(folder: Path, course: CourseLink) -> None:
    argv = ["git", "-C", str(folder), "config", "--local", "--get", "remote.origin.url"]
    status, origin = await _run(argv)
    is_top = (folder / ".git").exists()
    if (
        status
        or not is_top
        or origin.strip().removesuffix(".git") != course.repository.removesuffix(".git")
    ):
        raise OptionsError(
            f"{course.folder} already exists and holds something other than {course.repository}."
            " Rename that folder, then open the link again."
        )


async def _run(argv: list[str]) -> tuple[int, str]:
    """Return the exit status and the end of the output."""
    environ = {
        **os.environ,
        # A redirection or a submodule must not lead to a file or an ssh key.
        "GIT_ALLOW_PROTOCOL": "https",
        # There is nobody to ask.
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
    }
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environ,
            cwd="/",
        )
    except OSError as error:
        raise OptionsError(
            f"{argv[0]} cannot be started ({error.strerror}). Tell the administrators that courses"
            " need git on the compute nodes."
        ) from error
    try:
        said, _ = await asyncio.wait_for(process.communicate(), FETCH_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        raise OptionsError(
            f"The course was not fetched within {FETCH_TIMEOUT_S / 60:.0f} min. Clone it in a"
            " terminal, where you can see how far git is."
        ) from None
    return process.returncode or 0, said.decode("utf-8", "replace").strip()[-_LOG_CHARS:]
