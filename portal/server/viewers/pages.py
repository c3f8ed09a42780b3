"""The folders that a viewer shows in this session: start, find, list, stop, idle timeout."""

import asyncio
import logging
import secrets
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dsportal.slurm.errors import PortalError
from portal.server.viewers.folder import Folder, resolve_folder
from portal.server.viewers.page import FolderPage, Started, show, start_process
from portal.server.viewers.viewer import Viewer
from portal.settings.mlflow import MlflowSettings
from portal.settings.tensorboard import TensorBoardSettings

# For the file system to say whether a folder is there.
_STORAGE_TIMEOUT_S = 5.0
# The page that was just opened needs the CPU first.
_NEXT_AHEAD_AFTER_S = 15.0


class FolderPages:
    """Starts a viewer on folders, and keeps track of those that run.

    Args:
        python: Python of the environment that has it.
        limits: Those of the site. The address of one that is stopped as idle starts it again.
        root_dir: The folder that the file browser shows.
        base_url: Path of the notebook server, with a slash at both ends.
        shared_dirs: Folders outside the user's files that may be shown through a link.
        private_dir: Folder that only the user can enter, for sockets and logs.
        has_next: Whether a process for the next page is started ahead. It takes memory.
    """

    start_timeout_s = 30.0

    def __init__(
        self,
        viewer: Viewer,
        *,
        python: str,
        limits: TensorBoardSettings | MlflowSettings,
        root_dir: str,
        base_url: str,
        shared_dirs: Sequence[Path],
        private_dir: Path,
        log: logging.Logger,
        has_next: bool = False,
    ) -> None:
        self.viewer = viewer
        self.log = log
        self._python = python
        self._limits = limits
        self._root_dir = Path(root_dir)
        self._base_url = base_url
        self._shared_dirs = shared_dirs
        self._private_dir = private_dir
        self._starts: dict[frozenset[Path], asyncio.Task[FolderPage]] = {}
        # asyncio itself keeps only weak references to tasks.
        self._watches: set[asyncio.Task[None]] = set()
        self._used_at: dict[str, float] = {}
        # Folders of those that were stopped as idle: a request for them starts them again.
        self._asleep: dict[str, tuple[Folder, ...]] = {}
        self._has_next = has_next
        self._next: asyncio.Task[Started] | None = None
        self._no_next_before = 0.0

    def start_next(self) -> None:
        """Start the process of the next page ahead, if there is none yet."""
        is_there = self._next is not None and not _is_lost(self._next)
        if self._has_next and not is_there and time.monotonic() >= self._no_next_before:
            self._next = asyncio.create_task(self._start_process())

    def check(self, logdir: Folder) -> Folder:
        """Return a folder that may be shown."""
        return logdir

    def running(self) -> tuple[FolderPage, ...]:
        """Return those that run, oldest first."""
        done = (start for start in self._starts.values() if start.done())
        return tuple(start.result() for start in done if not _has_ended(start))

    def names(self) -> dict[int, str]:
        """Return what people call those that run, by process id."""
        title = self.viewer.title
        return {page.process.pid: f"{title} of {page.folders}" for page in self.running()}

    def find(self, page_id: str) -> FolderPage | None:
        """Return the running one with this id, or None."""
        return next((page for page in self.running() if page.id == page_id), None)

    async def open(self, names: Sequence[str]) -> FolderPage:
        """Return the page that shows these folders; start one if there is none.

        Args:
            names: Paths from the root of the file browser, one or more.
        """
        return await self._open(await self._resolve(names))

    async def find_or_wake(self, page_id: str) -> FolderPage | None:
        """Return the page with this id; restart it if it was stopped as idle.

        Returns:
            None if there is none with this id.
        """
        self.note_use(page_id)
        if page_id in self._asleep:
            return await self._open(self._asleep[page_id])
        return self.find(page_id)

    def note_use(self, page_id: str) -> None:
        """Reset the idle timeout of a page."""
        if page_id in self._used_at:
            self._used_at[page_id] = time.monotonic()

    async def _open(self, logdirs: tuple[Folder, ...]) -> FolderPage:
        # The same folders in another order are the same page.
        key = frozenset(logdir.path for logdir in logdirs)
        start = self._starts.get(key)
        if start is None or _has_ended(start):
            self._check_limit()
            start = asyncio.create_task(self._start(logdirs, self._id_for(key)))
            self._starts[key] = start
            watch = asyncio.create_task(self._watch(key, start))
            self._watches.add(watch)
            watch.add_done_callback(self._watches.discard)
        # A browser that disconnects must not cancel the start for another that waits for it.
        return await asyncio.shield(start)

    def _id_for(self, key: frozenset[Path]) -> str:
        asleep = self._asleep.items()
        # The old id again, so that the tab of an idle one keeps working.
        same = (id_ for id_, logdirs in asleep if {logdir.path for logdir in logdirs} == key)
        return next(same, None) or secrets.token_hex(12)

    async def stop(self, page_id: str) -> bool:
        """Stop a page, also one that sleeps; return False if there is none with this id."""
        page = self.find(page_id)
        if page is None:
            return self._asleep.pop(page_id, None) is not None
        await page.stop()
        return True

    async def stop_all(self) -> None:
        """Stop all of them."""
        pages = self.running()
        for start in self._starts.values():
            start.cancel()
        await asyncio.gather(*(page.stop() for page in pages))
        if self._next is not None and not _is_lost(self._next):
            await (await self._next).discard()
            self._next = None

    async def _resolve(self, names: Sequence[str]) -> tuple[Folder, ...]:
        def resolve() -> tuple[Folder, ...]:
            return tuple(
                self.check(
                    resolve_folder(
                        name, root=self._root_dir, shared=self._shared_dirs, viewer=self.viewer
                    )
                )
                for name in names
            )

        try:
            return await asyncio.wait_for(asyncio.to_thread(resolve), _STORAGE_TIMEOUT_S)
        except TimeoutError:
            raise PortalError(
                f"{self.viewer.title} was asked for “{names[0]}”, but its file system did not"
                f" answer within {_STORAGE_TIMEOUT_S:g} s. Try again, or tell the"
                " administrators.",
                http_status=504,
            ) from None

    def _check_limit(self) -> None:
        n_open = sum(not _has_ended(start) for start in self._starts.values())
        if self._limits.limit <= n_open:
            raise PortalError(
                f"One more {self.viewer.title} was asked for, but {n_open} are open, the most for"
                " one session. Stop one in the list of running kernels and terminals, then try"
                " again.",
                http_status=409,
            )

    async def _take_process(self) -> Started:
        ahead, self._next = self._next, None
        self._no_next_before = time.monotonic() + _NEXT_AHEAD_AFTER_S
        if ahead is None or _is_lost(ahead):
            return await self._start_process()
        return await ahead

    async def _start_process(self) -> Started:
        return await start_process(self.viewer, python=self._python, private_dir=self._private_dir)

    async def _start(self, logdirs: tuple[Folder, ...], page_id: str) -> FolderPage:
        page = await show(
            await self._take_process(),
            logdirs,
            page_id=page_id,
            base_url=self._base_url,
            timeout_s=self.start_timeout_s,
        )
        self.log.info(
            "%s of %s runs as process %d", self.viewer.title, page.folders, page.process.pid
        )
        if page.note:
            self.log.warning("%s", page.note)
        self._asleep.pop(page_id, None)
        self._used_at[page_id] = time.monotonic()
        return page

    async def _watch(self, key: frozenset[Path], start: asyncio.Task[FolderPage]) -> None:
        await asyncio.wait([start])
        if not start.cancelled() and start.exception() is None:
            page = start.result()
            await self._stop_when_idle(page)
            status = await page.process.wait()
            self.log.info("%s of %s ended with %d", self.viewer.title, page.folders, status)
            shutil.rmtree(page.socket_path.parent, ignore_errors=True)
            self._used_at.pop(page.id, None)
        # Unless the same folders were opened again meanwhile.
        if self._starts.get(key) is start:
            del self._starts[key]

    async def _stop_when_idle(self, page: FolderPage) -> None:
        while page.is_running:
            left_s = self._used_at[page.id] + self._limits.idle_s - time.monotonic()
            if left_s <= 0:
                self.log.info("%s of %s is idle and is stopped", self.viewer.title, page.folders)
                self._asleep[page.id] = page.logdirs
                await page.stop()
                return
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(page.process.wait(), left_s)


def _is_lost(ahead: asyncio.Task[Started]) -> bool:
    """Return whether a process that was started ahead failed to start, or has ended."""
    if not ahead.done():
        return False
    return ahead.cancelled() or ahead.exception() is not None or not ahead.result().is_running


def _has_ended(start: asyncio.Task[FolderPage]) -> bool:
    """Return whether a start failed, or its page is over."""
    if not start.done():
        return False
    failed = start.cancelled() or start.exception() is not None
    return failed or not start.result().is_running
