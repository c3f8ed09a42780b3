"""The session's programs one by one, and what they and the node read, write, send and receive."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Any

import psutil

from portal.server.session.cgroup import MIB

N_SHOWN = 8
# The file that tells a kernel where to listen, of whatever language it is.
_CONNECTION = re.compile(r"(^|/)kernel-[0-9a-f-]+\.json$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUse:
    """One program of the session.

    Attributes:
        cpu_percent: Since the last reading, in percent of one core.
        memory_mib: What it holds, memory that it shares with others included.
        gpu_memory_mib: On all GPUs together; 0 if the driver does not say.
    """

    pid: int
    name: str
    cpu_percent: float
    memory_mib: int
    gpu_memory_mib: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the programs did since the last reading.

    Attributes:
        processes: All of them, the notebook server included.
        disk_read_mib_s: What they read from storage, not from the file cache.
        disk_write_mib_s: What they wrote to storage.
        network_in_mib_s: What the node received, other jobs included, without its own loop.
        network_out_mib_s: What the node sent.
    """

    processes: tuple[ProcessUse, ...] = ()
    disk_read_mib_s: float = 0.0
    disk_write_mib_s: float = 0.0
    network_in_mib_s: float = 0.0
    network_out_mib_s: float = 0.0

    def busiest_percent(self, *, without: int) -> float:
        """Return the CPU use of the busiest program but that with the process id `without`."""
        others = (each.cpu_percent for each in self.processes if each.pid != without)
        return max(others, default=0.0)

    def shown(self, gpu_memory_mib: dict[int, int]) -> list[ProcessUse]:
        """Return the programs that use most: of GPU memory, of the CPU, of memory.

        Args:
            gpu_memory_mib: For each process id.
        """
        told = (replace(p, gpu_memory_mib=gpu_memory_mib.get(p.pid, 0)) for p in self.processes)

        def use(process: ProcessUse) -> tuple[int, int, int]:
            return process.gpu_memory_mib, round(process.cpu_percent), process.memory_mib

        return sorted(told, key=use, reverse=True)[:N_SHOWN]


@dataclass(frozen=True, slots=True)
class _Counters:
    at_s: float
    cpu_s: dict[tuple[int, float], float]
    disk: dict[tuple[int, float], tuple[int, int]]
    network: tuple[int, int]


class ProcessReader:
    """Reads the programs with these process ids.

    Args:
        clock: Seconds of a clock that only goes forward.
    """

    def __init__(
        self, pids: Callable[[], Iterable[int]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pids = pids
        self._clock = clock
        self._last: _Counters | None = None

    def read(self) -> Activity:
        """Return what was done since the last reading; nothing at the first.

        Raises:
            OSError: If the process ids cannot be read.
        """
        cpu_s: dict[tuple[int, float], float] = {}
        disk: dict[tuple[int, float], tuple[int, int]] = {}
        held: dict[tuple[int, float], tuple[str, int]] = {}
        for pid in self._pids():
            with contextlib.suppress(psutil.Error, OSError):
                process = psutil.Process(pid)
                with process.oneshot():
                    key = (pid, process.create_time())
                    times = process.cpu_times()
                    named = (
                        "Notebook server"
                        if pid == os.getpid()
                        else name_of(process.cmdline(), process.name())
                    )
                    held[key] = (named, process.memory_info().rss // MIB)
                    cpu_s[key] = times.user + times.system
                with contextlib.suppress(psutil.Error, OSError):
                    counted = process.io_counters()
                    disk[key] = (counted.read_bytes, counted.write_bytes)
        now = _Counters(self._clock(), cpu_s, disk, _network_bytes())
        last, self._last = self._last, now
        passed_s = 0.0 if last is None else now.at_s - last.at_s
        if last is None or passed_s <= 0:
            return Activity(
                processes=tuple(
                    ProcessUse(pid=key[0], name=name, cpu_percent=0.0, memory_mib=mib)
                    for key, (name, mib) in held.items()
                )
            )
        per_s = 1 / (passed_s * MIB)
        return Activity(
            processes=tuple(
                ProcessUse(
                    pid=key[0],
                    name=name,
                    # A new one counts from the next reading on.
                    cpu_percent=100 * (cpu_s[key] - last.cpu_s.get(key, cpu_s[key])) / passed_s,
                    memory_mib=mib,
                )
                for key, (name, mib) in held.items()
            ),
            disk_read_mib_s=per_s * _grown(last.disk, disk, 0),
            disk_write_mib_s=per_s * _grown(last.disk, disk, 1),
            network_in_mib_s=per_s * max(0, now.network[0] - last.network[0]),
            network_out_mib_s=per_s * max(0, now.network[1] - last.network[1]),
        )


def name_of(command: list[str], name: str) -> str:
    """Return what people call a program.

    Args:
        command: Its arguments; empty if they cannot be read.
        name: As the system calls it.
    """
    if any(word.startswith("ipykernel") or _CONNECTION.search(word) for word in command):
        return "Kernel"
    if command and PurePath(command[0]).name.startswith("python"):
        words = [word for word in command[1:] if not word.startswith("-") or word == "-c"]
        if words:
            return "Python" if words[0] == "-c" else PurePath(words[0]).name
    return PurePath(command[0]).name if command and command[0] else name


def _grown(
    before: dict[tuple[int, float], tuple[int, int]],
    now: dict[tuple[int, float], tuple[int, int]],
    index: int,
) -> int:
    return sum(n[index] - before[key][index] for key, n in now.items() if key in before)


def _network_bytes() -> tuple[int, int]:
    cards = psutil.net_io_counters(pernic=True)
    outer = [card for name, card in cards.items() if name != "lo"]
    return sum(card.bytes_recv for card in outer), sum(card.bytes_sent for card in outer)
