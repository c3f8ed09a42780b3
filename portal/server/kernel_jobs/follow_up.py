"""What notebooks leave to the session that follows this one: their variables."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from jupyter_server.serverapp import ServerApp

from dsportal.start.follow_up import FOLDER, LATEST_S, folder_of, is_recent
from portal.server.base.open_notebooks import notebooks_by_kernel
from portal.server.kernel_jobs.ability import saves_variables
from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.folder import FOLDER as MOVES
from portal.server.kernel_jobs.folder import make_folder
from portal.server.kernel_jobs.request import Variables
from portal.server.kernel_jobs.talk import Talk, held
from portal.server.kernel_jobs.variables import STAY_BEHIND, Saved, check_answer, save_order
from portal.settings.kernel_jobs import KernelJobSettings

# A kernel that answers begins at once.
_ANSWER_S = 30.0


class FollowUp:
    """Saves the variables of all notebooks for the session that follows.

    Args:
        read_preference: Returns the user's setting of whether variables come along.
    """

    def __init__(
        self,
        server: ServerApp,
        talks: dict[str, Talk],
        settings: KernelJobSettings,
        read_preference: Callable[[], Variables],
    ) -> None:
        self._kernels = server.kernel_manager
        self._sessions = server.session_manager
        self._talks = talks
        self._settings = settings
        self._read_preference = read_preference

    def forget_old(self) -> None:
        """Remove what nobody has asked for in time, or a server that was killed has left."""
        for folder in (Path.home() / FOLDER).glob("*"):
            if not is_recent(str(folder)):
                shutil.rmtree(folder, ignore_errors=True)
        for folder in (Path.home() / MOVES).glob("variables-*"):
            with suppress(OSError):
                if folder.lstat().st_mtime < time.time() - LATEST_S:
                    shutil.rmtree(folder, ignore_errors=True)

    async def save(self) -> list[str]:
        """Save those of all open notebooks, and return a sentence for each."""
        found = await notebooks_by_kernel(self._sessions)
        notebooks = {kernel: path for kernel, path in found.items() if path.endswith(".ipynb")}
        busy = [
            PurePosixPath(path).name
            for kernel, path in notebooks.items()
            if self._kernels.get_kernel(kernel).execution_state == "busy"
        ]
        if busy:
            raise KernelJobError(
                f"A cell runs in {', '.join(busy)}. Wait for its end, or interrupt it, then give "
                "the GPUs back."
            )
        if await asyncio.to_thread(self._read_preference) is Variables.NEVER:
            return [STAY_BEHIND]
        folders = {kernel: self._folder_of(path) for kernel, path in notebooks.items()}
        try:
            return [
                f"{PurePosixPath(path).name}: {await self._save(kernel, path, folders[kernel])}"
                for kernel, path in notebooks.items()
            ]
        except BaseException:
            for folder in folders.values():
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise

    def _folder_of(self, path: str) -> Path:
        where = self._kernels.cwd_for_path(str(PurePosixPath(path).parent))
        notebook = Path(where, PurePosixPath(path).name)
        return Path(folder_of(str(notebook), os.environ.get("SLURM_JOB_ID", "")))

    async def _save(self, kernel_id: str, path: str, folder: Path) -> str:
        kernel = self._kernels.get_kernel(kernel_id)
        if not saves_variables(kernel.kernel_spec):
            return f"The kernel {kernel.kernel_spec.display_name} cannot pass its variables on."
        saved = await asyncio.to_thread(make_folder, "variables")
        try:
            async with asyncio.timeout(self._settings.variables_minutes * 60 + _ANSWER_S):
                async with held(kernel, self._talks) as talk:
                    said = check_answer(await talk.save(**save_order(saved, self._settings)))
                    talk.tell("The variables are saved for the next session.", "told")
            await asyncio.to_thread(_put, saved, folder)
        except TimeoutError as error:
            raise KernelJobError(
                f"The kernel of {path} does not answer. Restart it, then give the GPUs back."
            ) from error
        finally:
            await asyncio.to_thread(shutil.rmtree, saved, ignore_errors=True)
        return Saved.of(saved, said).words


def _put(saved: Path, folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    saved.rename(folder)
