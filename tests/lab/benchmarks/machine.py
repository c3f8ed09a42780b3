"""What a benchmark ran on: the commit, the processor and whether it was quiet."""

import os
import platform
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
# Of these a figure may depend more than on the clock rate.
NOTEWORTHY_FLAGS = (
    *("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_tile", "amx_int8"),
)
_NO_FIGURES = (".", ":(exclude)docs/benchmarks", ":(exclude)docs/images")
QUIET_SHARE = 0.1
LOOK_S = 2.0
# What the benchmark before this one started may still be ending.
PATIENCE_S = 60.0


class BusyError(Exception):
    """Other programs use the processor, so that a figure would be theirs as much as ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One machine with one state of the code.

    Args:
        commit: Hash of the commit; empty without git.
        is_dirty: Whether the checkout has changes that are in no commit, figures left out.
        n_cores: Cores that the benchmark may use, threads of a core counted each.
        threads_per_core: 1 or more.
    """

    commit: str
    is_dirty: bool
    cpu: str
    n_cores: int
    threads_per_core: int
    flags: tuple[str, ...]
    memory_gib: int
    system: str

    @property
    def int8_class(self) -> str:
        """How it multiplies numbers of 8 bits, which decides what INT8 gains."""
        if "amx_int8" in self.flags:
            return "AMX"
        if {"avx512_vnni", "avx_vnni"} & {*self.flags}:
            return "VNNI"
        return "AVX512" if "avx512f" in self.flags else "without VNNI"


def read_machine() -> Machine:
    """Describe this machine and checkout."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model, siblings, cores, flags = (
        _first(cpuinfo, key) for key in ("model name", "siblings", "cpu cores", "flags")
    )
    memory_kib = int(Path("/proc/meminfo").read_text().split()[1])
    return Machine(
        commit=_git("rev-parse", "HEAD"),
        # The benchmark before this one has written its figures.
        is_dirty=bool(_git("status", "--porcelain", "--untracked-files=no", "--", *_NO_FIGURES)),
        cpu=model or "unknown",
        n_cores=len(os.sched_getaffinity(0)),
        threads_per_core=max(1, int(siblings or 1) // int(cores or 1)),
        flags=tuple(flag for flag in NOTEWORTHY_FLAGS if flag in flags.split()),
        memory_gib=round(memory_kib / 2**20),
        system=platform.freedesktop_os_release().get("PRETTY_NAME", "Linux"),
    )


def expect_quiet(look_s: float = LOOK_S, patience_s: float = PATIENCE_S) -> None:
    """Wait until the processor is idle before a benchmark begins.

    Args:
        patience_s: How long to look again and again, seconds; 0 looks once.
    """
    deadline = time.monotonic() + patience_s
    share = read_busy_share(look_s)
    while share > QUIET_SHARE and time.monotonic() < deadline:
        share = read_busy_share(look_s)
    if share > QUIET_SHARE:
        raise BusyError(
            f"Other programs use {share:.0%} of this machine's processor; at most"
            f" {QUIET_SHARE:.0%} is quiet enough for a benchmark. Wait until they have ended."
        )


def read_busy_share(look_s: float = LOOK_S) -> float:
    """Return the share of all cores that programs use, 0 to 1."""
    before = read_times(Path("/proc/stat").read_text())
    time.sleep(look_s)
    busy, total = (
        after - earlier
        for after, earlier in zip(read_times(Path("/proc/stat").read_text()), before, strict=True)
    )
    return busy / max(total, 1)


def read_times(stat: str) -> tuple[int, int]:
    """Read how busy the processor has been since the machine started.

    Returns:
        Ticks of work and ticks in all, over all cores.

    Source:
        man 5 proc: user, nice, system, idle, iowait, irq, softirq, steal.
    """
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, stat.split()[1:9])
    busy = user + nice + system + irq + softirq + steal
    return busy, busy + idle + iowait


def _first(cpuinfo: str, key: str) -> str:
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return " ".join(value.split())
    return ""


def _git(*words: str) -> str:
    argv = ["git", "-c", f"safe.directory={CHECKOUT}", "-C", str(CHECKOUT), *words]
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""
