"""Samples what the session uses: one sampler for the session, however many tabs are open."""

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

from portal.server.base.cgroup import MIB, Allotment, Source
from portal.server.base.gpus import GpuReading, Gpus
from portal.server.base.processes import Activity, ProcessReader

T = TypeVar("T")
HISTORY_S = 15 * 60
# More than a graph in the panel has pixels.
N_KEPT_SINCE_START = 480
_READ_TIMEOUT_S = 4.0


class ThinnedHistory(Generic[T]):
    """Keeps values of a whole session: when it is full, each two neighbours become one.

    So all values stand for equally long times, which double whenever it is full.

    Args:
        merge: Returns one value for two neighbours, the older one first.
        n_most: Most values that are kept; even.
    """

    def __init__(self, merge: Callable[[T, T], T], *, n_most: int) -> None:
        self._merge = merge
        self._n_most = n_most
        self._values: deque[T] = deque()
        # What is not yet enough for a value: at most one piece of each length, the longest first.
        self._pieces: list[tuple[int, T]] = []
        self._n_merged = 1

    def append(self, value: T) -> None:
        """Take the next value."""
        piece = (1, value)
        while self._pieces and self._pieces[-1][0] == piece[0]:
            n, older = self._pieces.pop()
            piece = (2 * n, self._merge(older, piece[1]))
        if piece[0] < self._n_merged:
            self._pieces.append(piece)
            return
        self._values.append(piece[1])
        if len(self._values) == self._n_most:
            values = list(self._values)
            pairs = zip(values[::2], values[1::2], strict=True)
            self._values = deque(self._merge(older, newer) for older, newer in pairs)
            self._n_merged *= 2

    def values(self) -> list[T]:
        """Return what is kept, oldest first; the last ones stand for shorter times."""
        return [*self._values, *(value for _, value in self._pieces)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The session's use of resources at one moment, or on average over some time before it.

    Attributes:
        at_s: Unix time.
        cpu_percent: Since the last sample, in percent of one core; None for the first sample, and
            if it could not be read.
        programs_percent: The same without the notebook server itself.
        memory_mib: Memory in use; None if it could not be read.
        gpus: One reading for each GPU; None if the driver did not answer.
        busiest_percent: Of the program that used the CPU most, in percent of one core, without the
            notebook server; None if it could not be read, as all below.
        disk_read_mib_s: What the session's programs read from storage.
        network_in_mib_s: What the whole node received.
    """

    at_s: float
    cpu_percent: float | None
    programs_percent: float | None
    memory_mib: int | None
    gpus: tuple[GpuReading, ...] | None
    busiest_percent: float | None = None
    disk_read_mib_s: float | None = None
    disk_write_mib_s: float | None = None
    network_in_mib_s: float | None = None
    network_out_mib_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "at_s": self.at_s,
            "cpu_percent": self.cpu_percent,
            "memory_mib": self.memory_mib,
            "gpus": None if self.gpus is None else [gpu.as_json() for gpu in self.gpus],
            "disk_read_mib_s": self.disk_read_mib_s,
            "disk_write_mib_s": self.disk_write_mib_s,
            "network_in_mib_s": self.network_in_mib_s,
            "network_out_mib_s": self.network_out_mib_s,
        }


class Meter:
    """Samples the session's use of resources.

    Args:
        interval_s: Seconds between two samples.
        own_cpu_s: Returns the CPU seconds that the notebook server itself has used.
        now: Returns the Unix time.
    """

    def __init__(
        self,
        usage: Source,
        gpus: Gpus,
        allotment: Allotment,
        *,
        interval_s: float,
        activity: ProcessReader | None = None,
        own_cpu_s: Callable[[], float] = time.process_time,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.allotment = allotment
        self.interval_s = interval_s
        self._usage = _Reader(usage.read)
        self._gpus = _Reader(gpus.read)
        self._activity = _Reader(Activity if activity is None else activity.read)
        self._can_tell_activity = activity is not None
        self.activity = Activity()
        self._own_cpu_s = own_cpu_s
        self._now = now
        self._samples: deque[Sample] = deque(maxlen=max(1, round(HISTORY_S / interval_s)))
        self._since_start = ThinnedHistory(merge_samples, n_most=N_KEPT_SINCE_START)
        self._last: tuple[float, float, float] | None = None

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples of the last 15 minutes, oldest first."""
        return tuple(self._samples)

    @property
    def samples_since_start(self) -> list[Sample]:
        """At most some hundred averages over equally long times since the start, oldest first."""
        return self._since_start.values()

    @property
    def latest(self) -> Sample | None:
        """The last sample, or None before the first."""
        return self._samples[-1] if self._samples else None

    async def take_sample(self) -> Sample:
        """Read everything once; whatever takes longer than 4 s is None in the sample."""
        usage, gpus, activity = await asyncio.gather(
            self._usage.read(), self._gpus.read(), self._activity.read()
        )
        now_s = self._now()
        cpu_percent = programs_percent = None
        if usage is not None:
            cpu_percent, programs_percent = self._percents(now_s, usage.cpu_s)
        sample = Sample(
            at_s=now_s,
            cpu_percent=cpu_percent,
            programs_percent=programs_percent,
            memory_mib=None if usage is None else usage.memory_bytes // MIB,
            gpus=gpus,
        )
        if activity is not None and self._can_tell_activity:
            self.activity = activity
            sample = replace(
                sample,
                busiest_percent=activity.busiest_percent(without=os.getpid()),
                disk_read_mib_s=activity.disk_read_mib_s,
                disk_write_mib_s=activity.disk_write_mib_s,
                network_in_mib_s=activity.network_in_mib_s,
                network_out_mib_s=activity.network_out_mib_s,
            )
        self._samples.append(sample)
        self._since_start.append(sample)
        return sample

    def _percents(self, now_s: float, cpu_s: float) -> tuple[float | None, float | None]:
        own_s = self._own_cpu_s()
        last, self._last = self._last, (now_s, cpu_s, own_s)
        # The clock may have been set back.
        if last is None or now_s <= last[0]:
            return None, None
        passed_s, used_s, used_own_s = now_s - last[0], cpu_s - last[1], own_s - last[2]
        programs_s = max(0.0, used_s - used_own_s)
        return 100 * max(0.0, used_s) / passed_s, 100 * programs_s / passed_s


def merge_samples(older: Sample, newer: Sample) -> Sample:
    """Return the average of two samples for equally long times, at the time of the newer one."""
    merged: Sample = _average(older, newer)
    return replace(merged, at_s=newer.at_s)


def _average(older: Any, newer: Any) -> Any:
    """Return the average of two values; what is no number, or not comparable, is the newer one."""
    if older is None or newer is None:
        return newer if older is None else older
    if isinstance(newer, Sample | GpuReading):
        means = {
            f.name: _average(getattr(older, f.name), getattr(newer, f.name)) for f in fields(newer)
        }
        return replace(newer, **means)
    if isinstance(newer, tuple) and len(older) == len(newer):
        return tuple(map(_average, older, newer))
    if isinstance(newer, int | float):
        mean = (older + newer) / 2
        return round(mean) if isinstance(newer, int) else mean
    return newer


class _Reader(Generic[T]):
    """Reads in a thread; while one reading hangs, no other is started."""

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._reading: asyncio.Future[T] | None = None

    async def read(self) -> T | None:
        # A hanging driver blocks its thread for good: one thread, not one for each sample.
        if self._reading is None:
            self._reading = asyncio.ensure_future(asyncio.to_thread(self._read))
        done, _ = await asyncio.wait([self._reading], timeout=_READ_TIMEOUT_S)
        if not done:
            return None
        reading, self._reading = self._reading, None
        # Counters can vanish at any moment, with their programs.
        return None if isinstance(reading.exception(), (OSError, ValueError)) else reading.result()
