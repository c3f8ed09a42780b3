"""Checkpoints of files, in one hidden folder of the home.

Jupyter's own are in `.ipynb_checkpoints` beside each file that is opened, saved or renamed, where
loaders of data take the folder for a class of pictures.
"""

import asyncio
import errno
import os
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_data_dir
from jupyter_server.services.contents.filecheckpoints import AsyncFileCheckpoints
from jupyter_server.services.contents.manager import AsyncContentsManager

# Jupyter keeps one checkpoint of each file.
_ID = "checkpoint"
_KEEP_S = 90 * 24 * 3600
_MOST_BYTES = 500 * 1024 * 1024


class HomeCheckpoints(AsyncFileCheckpoints):
    """Jupyter's checkpoints, each at the file's own path below `folder`.

    A checkpoint goes with its file and with the file's folder when Jupyter renames or deletes them.
    Those older than 90 days are removed, and the oldest of more than 500 MiB.
    """

    folder = Path(jupyter_data_dir()) / "checkpoints"
    _turn = threading.Lock()

    def checkpoint_path(self, checkpoint_id: str, path: str) -> str:
        """Return where the checkpoint of a file is, or would be; `path` is Jupyter's."""
        return str(self.folder / str(self._get_os_path(path.strip("/"))).lstrip("/"))

    async def create_checkpoint(
        self, contents_mgr: AsyncContentsManager, path: str
    ) -> dict[str, Any]:
        """Keep a copy of a file; without room for it the file is saved all the same."""
        kept = Path(self.checkpoint_path(_ID, path))
        try:
            await asyncio.to_thread(self._copy_and_prune, contents_mgr._get_os_path(path), kept)
        except OSError as error:
            self.log.warning("There is no checkpoint of %s: %s", path, error)
            return {"id": _ID, "last_modified": datetime.now(UTC)}
        model: dict[str, Any] = await self.checkpoint_model(_ID, str(kept))
        return model

    async def rename_all_checkpoints(self, old_path: str, new_path: str) -> None:
        """Move those of a file, or of all files of a folder."""
        old, new = (Path(self.checkpoint_path(_ID, path)) for path in (old_path, new_path))
        await asyncio.to_thread(_move, old, new)

    async def delete_all_checkpoints(self, path: str) -> None:
        """Remove those of a file, or of all files of a folder."""
        await asyncio.to_thread(_remove, Path(self.checkpoint_path(_ID, path)))

    def _copy_and_prune(self, source: str, kept: Path) -> None:
        if os.path.getsize(source) > _MOST_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        # One at a time, since empty folders are removed.
        with self._turn:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            descriptor, part = tempfile.mkstemp(dir=self.folder)
            os.close(descriptor)
            try:
                shutil.copy2(source, part)
                os.replace(part, kept)
            except OSError:
                os.unlink(part)
                raise
            prune(self.folder)


def prune(folder: Path) -> None:
    """Remove what is too old, the oldest of what is too much, and empty folders."""
    found: list[tuple[float, int, str]] = []
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            with suppress(OSError):
                status = os.lstat(os.path.join(parent, name))
                # The time of the copy; the time of the file's content is copied with it.
                found.append((status.st_ctime, status.st_size, os.path.join(parent, name)))
        if parent != str(folder):
            with suppress(OSError):
                os.rmdir(parent)
    n_bytes = 0
    for written_s, size_bytes, path in sorted(found, reverse=True):
        n_bytes += size_bytes
        if n_bytes > _MOST_BYTES or time.time() - written_s > _KEEP_S:
            with suppress(OSError):
                os.unlink(path)


def keep_checkpoints_apart(contents: AsyncContentsManager) -> None:
    """Have checkpoints made in the home, unless a configuration names another class."""
    if type(contents.checkpoints) is AsyncFileCheckpoints:
        contents.checkpoints = HomeCheckpoints(parent=contents)


def _move(old: Path, new: Path) -> None:
    # What is there was left by a file that another program removed.
    _remove(new)
    if old.exists():
        with suppress(OSError):
            new.parent.mkdir(parents=True, exist_ok=True)
            old.rename(new)


def _remove(kept: Path) -> None:
    if kept.is_dir():
        shutil.rmtree(kept, ignore_errors=True)
    else:
        with suppress(OSError):
            kept.unlink()
