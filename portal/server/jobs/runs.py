"""Lists, names, stops and removes the user's runs."""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dsportal.slurm.errors import PortalError
from dsportal.slurm.listing import Squeue, new_nonce
from portal.server.jobs.job import SlurmJob
from portal.server.jobs.output_file import Output, read_piece
from portal.server.jobs.queue import JobQueue
from portal.server.jobs.run_folder import (
    MOST_LABEL_CHARACTERS,
    NAME,
    FolderSize,
    RunRecord,
    measure_folder,
    read_record,
    write_label,
)
from portal.server.jobs.run_view import Listing, RunView, view_run
from spawner.client.command import query
from spawner.errors import SlurmError, SlurmUnavailableError

TIMEOUT_S = 15
N_LISTED = 100
MEASURE_EVERY_S = 300.0
FOLDER = "portal-runs"
_STEPS = Squeue("ij")


class Runs:
    """The runs of one user."""

    def __init__(self, home: Path, queue: JobQueue) -> None:
        self.parent = home / FOLDER
        self._queue = queue
        self._sizes: dict[str, tuple[float, FolderSize]] = {}
        self._ended: dict[str, RunRecord] = {}

    async def list_runs(
        self, n: int = N_LISTED, jobs: Sequence[SlurmJob] | None = None
    ) -> list[RunView]:
        """Return the newest `n` runs, the newest first.

        Args:
            jobs: The user's jobs, if they were just listed.
        """
        records = await asyncio.to_thread(self._read_records, n)
        listing = None
        if any(not record.end for record in records):
            listing = await self._ask_slurm(jobs)
            # Again: what Slurm no longer knows may have written its end since.
            records = await asyncio.to_thread(self._read_records, n)
        now_s = time.time()
        return [view_run(each, listing, self._size(each.name), now_s) for each in records]

    async def measure(self) -> None:
        """Measure the folders whose size is not known, or may have changed."""
        await asyncio.to_thread(self._measure_all)

    def folder(self, name: str) -> Path:
        """Return the folder of a run."""
        folder = self.parent / name
        if NAME.fullmatch(name) is None or folder.is_symlink() or not folder.is_dir():
            raise PortalError(
                f"There is no run {name!r:.80}. Choose one of the list.", http_status=404
            )
        return folder

    def read_output(self, name: str, rank: int, offset: int) -> Output:
        """Return a piece of what a rank printed; a negative `offset` means its end."""
        return read_piece(self.folder(name) / f"rank-{rank}.log", offset)

    async def read_used(self, name: str) -> str:
        """Return what a run used, in words; "" if that is not known."""
        record = await asyncio.to_thread(read_record, self.folder(name))
        if record is not None and record.cluster:
            return ""
        job_id = record.job_id if record is not None else ""
        return await self._queue.read_used(job_id, step_name="" if job_id else name)

    def rename(self, name: str, label: object) -> None:
        """Keep `label`, which the user calls a run; "" removes it."""
        folder = self.folder(name)
        if not isinstance(label, str) or len(label) > MOST_LABEL_CHARACTERS:
            raise PortalError(
                f"A name of a run is text of up to {MOST_LABEL_CHARACTERS} characters.",
                http_status=409,
            )
        self._ended.pop(name, None)
        try:
            write_label(folder, " ".join(label.split()))
        except OSError as error:
            raise PortalError(
                f"The name cannot be kept ({error.strerror}). Make room.", http_status=409
            ) from error

    async def stop(self, name: str) -> None:
        """End the ranks of a run, with SIGTERM first, and cancel the run that is to follow it."""
        folder = self.folder(name)
        record = await asyncio.to_thread(read_record, folder)
        if record is not None and record.cluster:
            raise PortalError(
                f"The run {name} is on the cluster {record.cluster}. Stop it in a session there.",
                http_status=409,
            )
        listing = await self._ask_slurm()
        if listing is None:
            raise SlurmUnavailableError("Slurm is not responding. Try again in a minute.")
        target = "" if record is None else _target(record, listing)
        if not target:
            raise PortalError(
                f"The run {name} does not run any more. Reload the list.", http_status=404
            )
        if record is not None and not record.job_id:
            # The cell then says that the run was stopped, not that it failed.
            await asyncio.to_thread((folder / "stop").touch)
        await query(["scancel", target, *_next_runs(target, listing)], timeout_s=TIMEOUT_S)

    async def remove(self, name: str) -> None:
        """Remove the folder of a run that has ended."""
        folder = self.folder(name)
        views = await self.list_runs(n=sys.maxsize)
        if any(view.record.name == name and not view.is_over for view in views):
            raise PortalError(f"The run {name} has not ended. Stop it first.", http_status=409)
        self._ended.pop(name, None)
        self._sizes.pop(name, None)
        try:
            await asyncio.to_thread(shutil.rmtree, folder)
        except OSError as error:
            raise PortalError(
                f"{folder} cannot be removed ({error.strerror}).", http_status=409
            ) from error

    async def _ask_slurm(self, jobs: Sequence[SlurmJob] | None = None) -> Listing | None:
        nonce = new_nonce()
        argv = ("squeue", "--steps", f"--user={os.getuid()}", *_STEPS.options(nonce))
        try:
            if jobs is None:
                jobs = await self._queue.list_jobs()
            steps = await query(argv, timeout_s=TIMEOUT_S)
        except SlurmError:
            return None
        return Listing(
            jobs={job.id: job for job in jobs},
            steps={name: step_id for step_id, name in _STEPS.rows(steps.stdout, nonce)},
        )

    def _read_records(self, n: int) -> list[RunRecord]:
        try:
            names = [entry.name for entry in os.scandir(self.parent) if NAME.fullmatch(entry.name)]
        except FileNotFoundError:
            return []
        found = (self._read_record(name) for name in sorted(names, reverse=True)[:n])
        return [record for record in found if record is not None]

    def _read_record(self, name: str) -> RunRecord | None:
        if name in self._ended:
            return self._ended[name]
        record = read_record(self.parent / name)
        # What has ended does not change; homes may be slow.
        if record is not None and record.end:
            self._ended[name] = record
        return record

    def _size(self, name: str) -> FolderSize | None:
        known = self._sizes.get(name)
        return None if known is None else known[1]

    def _measure_all(self) -> None:
        for record in self._read_records(N_LISTED):
            measured_s, _ = self._sizes.get(record.name, (float("-inf"), None))
            if time.monotonic() - measured_s > MEASURE_EVERY_S:
                size = measure_folder(self.parent / record.name)
                self._sizes[record.name] = time.monotonic(), size


def _target(record: RunRecord, listing: Listing) -> str:
    if record.job_id:
        job = listing.jobs.get(record.job_id)
        return "" if job is None or job.is_over else job.id
    return listing.steps.get(record.name, "")


def _next_runs(target: str, listing: Listing) -> list[str]:
    """Return the ids of the jobs that wait to run again what a job runs."""
    job = listing.jobs.get(target)
    if job is None or not job.series:
        return []
    others = (other for other in listing.jobs.values() if other.series == job.series)
    return [other.id for other in others if other.phase == "waiting" and other.id != target]
