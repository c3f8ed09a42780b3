"""Samples GPUs, cores and memory: one sampler for the session, however many tabs are open."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from portal.server.session.cgroup import MIB, Allotment, Usage
from portal.server.session.gpus import GpuReading

HISTORY_S = 15 * 60
_READ_TIMEOUT_S = 4.0

T = TypeVar("T")


class ReadsUsage(Protocol):
    """A source of CPU and memory readings."""

    def read(self) -> Usage:
        """Return the usage so far."""


class ReadsGpus(Protocol):
    """A source of GPU readings."""

    def read(self) -> Sequence[GpuReading]:
        """Return a reading of each GPU of the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The session's use of resources at one moment.

    Attributes:
        at_s: Unix time.
        cpu_percent: Since the last sample, in percent of one core; None for the first sample, and
            if it could not be read.
        programs_percent: The same without the notebook server itself.
        memory_mib: Memory in use; None if it could not be read.
        gpus: One reading for each GPU; None if the driver did not answer.
    """

    at_s: float
    cpu_percent: float | None
    programs_percent: float | None
    memory_mib: int | None
    gpus: tuple[GpuReading, ...] | None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "at_s": self.at_s,
            "cpu_percent": self.cpu_percent,
            "memory_mib": self.memory_mib,
            "gpus": None if self.gpus is None else [gpu.as_json() for gpu in self.gpus],
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
        usage: ReadsUsage,
        gpus: ReadsGpus,
        allotment: Allotment,
        *,
        interval_s: float,
        own_cpu_s: Callable[[], float] = time.process_time,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.allotment = allotment
        self.interval_s = interval_s
        self._usage = _Reader(usage.read)
        self._gpus = _Reader(lambda: tuple(gpus.read()))
        self._own_cpu_s = own_cpu_s
        self._now = now
        self._samples: deque[Sample] = deque(maxlen=max(1, round(HISTORY_S / interval_s)))
        self._last: tuple[float, float, float] | None = None

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples of the last 15 minutes, oldest first."""
        return tuple(self._samples)

    @property
    def latest(self) -> Sample | None:
        """The last sample, or None before the first."""
        return self._samples[-1] if self._samples else None

    async def take_sample(self) -> Sample:
        """Read everything once; whatever takes longer than 4 s is None in the sample."""
        usage, gpus = await asyncio.gather(self._usage.read(), self._gpus.read())
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
        self._samples.append(sample)
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
