"""CPU and memory use of the session's job, from its cgroup or else from its processes."""

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUPS_DIR = Path("/sys/fs/cgroup")
MIB = 1024 * 1024
# What cgroups print for "no limit" is near 2^63.
_NO_LIMIT_BYTES = 2**60


@dataclass(frozen=True, slots=True)
class Usage:
    """What the job has used so far.

    Attributes:
        cpu_s: CPU seconds of all its programs since they started; two busy cores make 2 a second.
        memory_bytes: Memory in use now, without the file cache.
    """

    cpu_s: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Allotment:
    """What the job may use.

    Attributes:
        memory_mib: None for no limit.
    """

    n_cores: int
    memory_mib: int | None


class CgroupV2:
    """The job's cgroup of version 2."""

    _held, _limit, _cache = "memory.current", "memory.max", "inactive_file"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> Usage:
        """Return the usage so far."""
        held = int((self._folder / self._held).read_text())
        # The kernel drops this part of the file cache when memory runs short.
        cache = _stat(self._folder / "memory.stat", self._cache)
        return Usage(cpu_s=self._cpu_s(), memory_bytes=max(0, held - cache))

    def memory_limit_mib(self) -> int | None:
        """Return the memory limit in MiB, or None if there is none."""
        return _limit_mib((self._folder / self._limit).read_text())

    def n_killed_for_memory(self) -> int:
        """Return how many processes of the job were killed because its memory was full."""
        return _stat(self._folder / "memory.events", "oom_kill")

    def pids(self) -> list[int]:
        """Return the process ids of the job on this node."""
        return _pids(self._folder)

    def _cpu_s(self) -> float:
        return _stat(self._folder / "cpu.stat", "usage_usec") / 1e6


class CgroupV1(CgroupV2):
    """The job's cgroups of version 1, under the controllers cpuacct and memory."""

    _held, _limit = "memory.usage_in_bytes", "memory.limit_in_bytes"
    # "total_": with the steps below the job, in which all its programs run.
    _cache = "total_inactive_file"

    def __init__(self, cpu_dir: Path, memory_dir: Path) -> None:
        super().__init__(memory_dir)
        self._cpu_dir = cpu_dir

    def n_killed_for_memory(self) -> int:
        """Return how many processes of the job were killed because its memory was full."""
        # Counted in the step's own folder, not in those above it.
        files = self._folder.rglob("memory.oom_control")
        return sum(_stat(path, "oom_kill") for path in files)

    def _cpu_s(self) -> float:
        return int((self._cpu_dir / "cpuacct.usage").read_text()) / 1e9


class Processes:
    """The user's processes of the same job on this node, if it has no cgroup.

    Args:
        job_id: Empty for the server and its descendants.
    """

    def __init__(self, job_id: str) -> None:
        self._job_id = job_id
        self._is_ours: dict[tuple[int, float], bool] = {}
        self._cpu_s: dict[tuple[int, float], float] = {}
        self._ended_cpu_s = 0.0

    def read(self) -> Usage:
        """Return the usage so far."""
        cpu_s: dict[tuple[int, float], float] = {}
        memory_bytes = 0
        for process in self._processes():
            with contextlib.suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                cpu_s[process.pid, process.create_time()] = times.user + times.system
                memory_bytes += process.memory_info().rss
        # The CPU time of a process still counts after it has ended.
        self._ended_cpu_s += sum(used for key, used in self._cpu_s.items() if key not in cpu_s)
        self._cpu_s = cpu_s
        return Usage(cpu_s=self._ended_cpu_s + sum(cpu_s.values()), memory_bytes=memory_bytes)

    def memory_limit_mib(self) -> int | None:
        """Return None: processes have no common limit."""
        return None

    def n_killed_for_memory(self) -> int:
        """Return 0: nothing kills them together."""
        return 0

    def pids(self) -> list[int]:
        """Return the process ids of the job on this node."""
        return [process.pid for process in self._processes()]

    def _processes(self) -> list[psutil.Process]:
        own = psutil.Process()
        if not self._job_id:
            return [own, *own.children(recursive=True)]
        is_ours: dict[tuple[int, float], bool] = {}
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                # Process ids are used again; with the start time they are unique.
                key = (process.pid, process.create_time())
                known = self._is_ours.get(key)
                is_ours[key] = self._belongs(process) if known is None else known
                if is_ours[key]:
                    found.append(process)
        self._is_ours = is_ours
        return found

    def _belongs(self, process: psutil.Process) -> bool:
        # Another user's environment cannot be read.
        if process.uids().real != os.getuid():
            return False
        environment = process.environ()
        return bool(environment.get("SLURM_JOB_ID") == self._job_id)


# What a source cannot read is an OSError.
Source = CgroupV2 | Processes


def find_source(
    environment: Mapping[str, str], *, proc: Path = Path("/proc"), cgroups: Path = CGROUPS_DIR
) -> Source:
    """Return the job's cgroup, of either version, or else its processes.

    Args:
        environment: Needs SLURM_JOB_ID.
        proc: Mount point of procfs.
        cgroups: Mount point of the cgroup file systems.

    Source:
        cgroups(7), /proc/[pid]/cgroup; the folder job_ID of Slurm's cgroup/v1 and cgroup/v2.
    """
    job_id = environment.get("SLURM_JOB_ID", "")
    folders: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in (proc / "self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            # The job's own folder, not that of the step in which this server runs.
            match = re.match(rf".*/job_{re.escape(job_id)}(?=/|$)", path) if job_id else None
            folders.update({name: match[0] for name in controllers.split(",") if match})
    candidates: list[Source] = []
    # Version 2 has no controller names in /proc/self/cgroup.
    if "" in folders:
        candidates.append(CgroupV2(cgroups / folders[""].lstrip("/")))
    if {"cpuacct", "memory"} <= set(folders):
        cpu_dir, memory_dir = (cgroups / c / folders[c].lstrip("/") for c in ("cpuacct", "memory"))
        candidates.append(CgroupV1(cpu_dir, memory_dir))
    for source in candidates:
        with contextlib.suppress(OSError, ValueError):
            # A cgroup may exist and yet not be readable here.
            source.read()
            return source
    return Processes(job_id)


def find_allotment(environment: Mapping[str, str], source: Source) -> Allotment:
    """Return what the job may use; all cores of the node if Slurm does not say.

    Args:
        environment: Needs SLURM_CPUS_ON_NODE and PORTAL_SESSION_MEMORY_MIB.
        source: Its memory limit, if it has one, comes first.

    Source:
        sbatch(1), OUTPUT ENVIRONMENT VARIABLES.
    """
    cores = environment.get("SLURM_CPUS_ON_NODE", "")
    n_cores = os.cpu_count() or 1
    if cores.isdecimal() and int(cores):
        # The demo's nodes promise more than the machine has; of that, a full load would look small.
        n_cores = min(n_cores, int(cores))
    memory_mib: int | None = None
    with contextlib.suppress(OSError, ValueError):
        memory_mib = source.memory_limit_mib()
    text = environment.get("PORTAL_SESSION_MEMORY_MIB", "")
    # Slurm counts memory even if no cgroup enforces it.
    if memory_mib is None and text.isdecimal() and int(text):
        memory_mib = int(text)
    return Allotment(n_cores=n_cores, memory_mib=memory_mib)


def _stat(path: Path, name: str) -> int:
    for line in path.read_text().splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _pids(folder: Path) -> list[int]:
    # The job's own folder holds no processes, those of its steps do.
    found: list[int] = []
    for file in folder.rglob("cgroup.procs"):
        # A step may end meanwhile.
        with contextlib.suppress(OSError):
            found += map(int, file.read_text().split())
    return found


def _limit_mib(text: str) -> int | None:
    text = text.strip()
    if text == "max" or int(text) >= _NO_LIMIT_BYTES:
        return None
    return int(text) // MIB
