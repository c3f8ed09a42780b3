"""Starts the ranks of a run, writes their logs and records how they ended.

Runs in the notebook for a run inside its session, and on the job's first node for a run with a
job of its own.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO

from dsportal.launch.step import JobStep, step_argv
from dsportal.notebook.failure import explain_failure
from dsportal.notebook.output import RankOutput
from dsportal.rendezvous.network import LOOPBACK, address_of_node, this_node
from dsportal.rendezvous.store import Store
from dsportal.task.environment import RENDEZVOUS_VARIABLE
from dsportal.task.folder import RunFolder
from dsportal.task.plan import End, Plan
from dsportal.task.throughput import Throughput, ThroughputMeter, sample_of_bytes
from dsportal.worker.progress import SCOPE, SEND_EVERY_S

_OWN_RANK_START = (sys.executable, "-m", "dsportal.worker.rank")


class _ThroughputReader:
    """Follows the reports of a run from `with` to the end of its block.

    The newest pace is kept in the run's folder, where `attach` finds it.

    Args:
        on_pace: Takes each new pace; called from a thread of its own.
    """

    def __init__(
        self,
        store: Store,
        folder: RunFolder,
        n_ranks: int,
        on_pace: Callable[[Throughput], object],
    ) -> None:
        self._store = store
        self._folder = folder
        self._meter = ThroughputMeter(n_ranks)
        self._on_pace = on_pace
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read_on, daemon=True)

    def __enter__(self) -> _ThroughputReader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _read_on(self) -> None:
        while not self._over.wait(SEND_EVERY_S):
            self._read()
        # Once more: ranks send their last report when they are done.
        self._read()

    def _read(self) -> None:
        for key, (heard_at_s, value) in self._store.received(SCOPE).items():
            # Ranks run the user's code, so a report may be anything.
            with suppress(ValueError):
                self._meter.feed(int(key), sample_of_bytes(value), heard_at_s)
        pace = self._meter.pace(time.monotonic())
        if pace is None:
            return
        # Progress must not end a training: a full disk ends it only if the training itself writes.
        with suppress(OSError):
            self._folder.write_throughput(pace)
        self._on_pace(pace)


def supervise(
    folder: RunFolder,
    plan: Plan,
    *,
    job_id: int,
    shown: Sequence[int],
    show: Callable[[str], object],
    on_start: Callable[[JobStep], object] = lambda step: None,
    on_pace: Callable[[Throughput], object] = lambda pace: None,
) -> End:
    """Run the ranks to their end: `show` gets their output, `on_start` the running step.

    Args:
        on_pace: Takes the ranks' progress, once a second if they report any; called from another
            thread.

    Returns:
        How the ranks ended; also written into the folder. If this function is interrupted, all
        ranks are ended first.
    """
    name = folder.path.name
    is_on_one = plan.n_nodes == 1
    argv = step_argv(
        plan,
        job_id=job_id,
        name=name,
        node=this_node() if is_on_one else "",
        working_dir=folder.path,
        command=[*(plan.rank_start or _OWN_RANK_START), str(folder.path)],
    )
    log_paths = [folder.log_path(rank) for rank in range(plan.n_ranks)]
    began_s = time.monotonic()
    with (
        # The store opens first and closes last: ranks and the reader of their progress need it.
        # On one node, nobody else has to reach it.
        Store(LOOPBACK if is_on_one else address_of_node(this_node())) as store,
        RankOutput(log_paths, shown, show) as output,
        _ThroughputReader(store, folder, plan.n_ranks, on_pace),
    ):
        address, port = store.horovod_address
        environ = {
            **os.environ,
            "SLURM_JOB_ID": str(job_id),
            RENDEZVOUS_VARIABLE: f"{address} {port}",
        }
        step = JobStep(argv, environ, name)
        try:
            on_start(step)
            for line in step.lines(on_pause=output.flush):
                output.feed(line)
            status = step.wait()
        except BaseException:
            # What ranks printed while they were being stopped belongs in their logs, too.
            for line in BytesIO(step.stop()):
                output.feed(line)
            # The interrupt matters more than a record that cannot be written, as on a full disk.
            with suppress(OSError):
                _note(folder, plan.n_ranks, End(status=1, was_stopped=True), began_s)
            raise
        lines = tuple(output.slurm_lines)
    return _note(folder, plan.n_ranks, End(status=status, slurm_lines=lines), began_s)


def _note(folder: RunFolder, n_ranks: int, end: End, began_s: float) -> End:
    end = replace(end, seconds=time.monotonic() - began_s)
    # Ranks that end after saving exit with a status other than 0: only the mark tells.
    if folder.saved_mark.exists():
        end = replace(end, is_saved=True, was_stopped=False)
    elif end.status and folder.stop_mark.exists():
        end = replace(end, was_stopped=True)
    if end.word == "failed":
        # The ranks do not print their tracebacks: the cell would show them twice.
        for failure in folder.read_failures(n_ranks):
            with folder.log_path(failure.rank).open("a", encoding="utf-8") as log:
                log.write(failure.traceback_text or failure.summary)
        end = replace(end, reason=explain_failure(folder, end, n_ranks).message)
    if end.word == "done" and (pace := folder.read_throughput()) is not None:
        end = replace(end, progress=pace.done(end.seconds))
    folder.write_end(end)
    return end
