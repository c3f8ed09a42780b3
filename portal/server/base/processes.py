"""The session's programs one by one, and what they and the node read, write, send and receive."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import psutil

from dsportal.start.kernel_ports import FORWARDER
from portal.server.base.cgroup import MIB
from portal.server.base.commands import GUARDED

N_SHOWN = 8
# The file that tells a kernel where to listen, of whatever language it is.
_CONNECTION = re.compile(r"(^|/)kernel-(?P<id>[0-9a-f-]+)\.json$")
# One line for all that runs in each session, whoever works in it.
THE_PORTAL = "The portal"
KERNEL = "Kernel"
_RANK = ".worker.rank"
_SHELLS = frozenset({"bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"})
_PORTAL_PROGRAM = re.compile(
    r"/(spawner/(node|programs)|portal/server)/[a-z0-9_/]+(\.py|/process)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUse:
    """One program of the session.

    Attributes:
        cpu_percent: Since the last reading, in percent of one core.
        memory_mib: What it holds, memory that it shares with others included.
        gpu_memory_mib: On all GPUs together; 0 if the driver does not say.
        kernel_id: Of a kernel, its id; else empty.
    """

    pid: int
    name: str
    cpu_percent: float
    memory_mib: int
    gpu_memory_mib: int = 0
    kernel_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the programs did since the last reading.

    Attributes:
        processes: All of them, the notebook server included.
        disk_read_mib_s: What they read from storage, not from the file cache.
        disk_write_mib_s: What they wrote to storage.
        network_in_mib_s: What the node received, other jobs included, without its own loop.
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

    def shown(
        self,
        gpu_memory_mib: Mapping[int, int],
        notebooks: Mapping[str, str],
        names: Mapping[int, str],
    ) -> list[ProcessUse]:
        """Return the user's programs that use most: of GPU memory, of the CPU, of memory.

        What the portal itself runs comes last, as one.

        Args:
            gpu_memory_mib: For each process id.
            notebooks: Path of the notebook of each kernel, by the kernel's id.
            names: What people call programs that the portal has started, by process id.
        """
        told = [
            replace(
                process,
                name=names.get(process.pid) or _with_notebook(process, notebooks),
                gpu_memory_mib=gpu_memory_mib.get(process.pid, 0),
            )
            for process in self.processes
        ]

        def use(process: ProcessUse) -> tuple[int, int, int]:
            return process.gpu_memory_mib, round(process.cpu_percent), process.memory_mib

        own = [process for process in told if process.name == THE_PORTAL]
        others = [process for process in told if process.name != THE_PORTAL]
        shown = sorted(others, key=use, reverse=True)[: N_SHOWN - 1]
        return [*shown, *([_together(own)] if own else [])]


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
        held: dict[tuple[int, float], ProcessUse] = {}
        for pid in self._pids():
            with contextlib.suppress(psutil.Error, OSError):
                process = psutil.Process(pid)
                with process.oneshot():
                    key = (pid, process.create_time())
                    times = process.cpu_times()
                    held[key] = _describe(process)
                    cpu_s[key] = times.user + times.system
                with contextlib.suppress(psutil.Error, OSError):
                    counted = process.io_counters()
                    disk[key] = (counted.read_bytes, counted.write_bytes)
        now = _Counters(self._clock(), cpu_s, disk, _network_bytes())
        last, self._last = self._last, now
        passed_s = 0.0 if last is None else now.at_s - last.at_s
        if last is None or passed_s <= 0:
            return Activity(processes=tuple(held.values()))
        per_s = 1 / (passed_s * MIB)
        return Activity(
            processes=tuple(
                # A new one counts from the next reading on.
                replace(
                    use,
                    cpu_percent=100 * (cpu_s[key] - last.cpu_s.get(key, cpu_s[key])) / passed_s,
                )
                for key, use in held.items()
            ),
            disk_read_mib_s=per_s * _grown(last.disk, disk, 0),
            disk_write_mib_s=per_s * _grown(last.disk, disk, 1),
            network_in_mib_s=per_s * max(0, now.network[0] - last.network[0]),
            network_out_mib_s=per_s * max(0, now.network[1] - last.network[1]),
        )


def _describe(process: psutil.Process) -> ProcessUse:
    command = process.cmdline()
    is_server = process.pid == os.getpid()
    name = THE_PORTAL if is_server else name_of(command, process.name())
    return ProcessUse(
        pid=process.pid,
        name=name,
        cpu_percent=0.0,
        memory_mib=process.memory_info().rss // MIB,
        kernel_id="" if name == THE_PORTAL else _kernel_id(command),
    )


def name_of(command: list[str], name: str) -> str:
    """Return what people call a program.

    Args:
        command: Its arguments; empty if they cannot be read.
        name: As the system calls it.
    """
    # Forked from a kernel, it has the kernel's arguments.
    if name == FORWARDER:
        return THE_PORTAL
    if any(word.startswith("ipykernel") or _CONNECTION.search(word) for word in command):
        return KERNEL
    program = PurePath(command[0]).name if command and command[0] else name
    # slurmstepd writes its job into its own name.
    if program.startswith("slurmstepd"):
        return THE_PORTAL
    if program.startswith("python"):
        return _name_of_script(command) or program
    # A login shell has a "-" before its name.
    shell = program.removeprefix("-")
    if shell in _SHELLS:
        if "-c" in command[1:3]:
            is_terminals = any(word.startswith(GUARDED) for word in command)
            return THE_PORTAL if is_terminals else f"Command ({shell})"
        # The file after --rcfile is one that the shell of a terminal reads first.
        words = [] if command[1:2] == ["--rcfile"] else command[1:]
        script = next((word for word in words if not word.startswith("-")), "")
        return PurePath(script).name if script else f"Terminal ({shell})"
    if any("code-server" in PurePath(word).parts for word in command[:2]):
        return "VS Code"
    if command[1:2] == ["--logdir=logs"]:
        return "Reader of TensorBoard's logs"
    return program


def _name_of_script(command: list[str]) -> str:
    words = [word for word in command[1:] if not word.startswith("-") or word == "-c"]
    if not words:
        return ""
    if words[0] == "-c":
        return "Python"
    if words[0].endswith(_RANK):
        return "Rank of run()"
    return THE_PORTAL if _PORTAL_PROGRAM.search(words[0]) else PurePath(words[0]).name


def _kernel_id(command: list[str]) -> str:
    found = (_CONNECTION.search(word) for word in command)
    return next((match["id"] for match in found if match), "")


def _with_notebook(process: ProcessUse, notebooks: Mapping[str, str]) -> str:
    path = notebooks.get(process.kernel_id, "") if process.kernel_id else ""
    return f"{process.name} of {PurePath(path).name}" if path else process.name


def _together(processes: Sequence[ProcessUse]) -> ProcessUse:
    return ProcessUse(
        pid=os.getpid(),
        name=THE_PORTAL,
        cpu_percent=sum(process.cpu_percent for process in processes),
        memory_mib=sum(process.memory_mib for process in processes),
        gpu_memory_mib=sum(process.gpu_memory_mib for process in processes),
    )


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
