"""Pid files, which identify a daemon started earlier.

A pid file keeps the process id together with the boot and the start time of the process, so that a
reused process id is never taken for the daemon.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deploy.one_machine.layout import RUN_DIR

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    """Content of a pid file.

    Args:
        start_ticks: Start time of the process, clock ticks since boot.
        boot_id: The boot that both belong to.
        fingerprint: Settings that the process was started with.
    """

    pid: int
    start_ticks: int
    boot_id: str
    fingerprint: str = ""


def format_record(record: ProcessRecord) -> str:
    """Return the text of a pid file: four lines, the first is the process id alone."""
    # The process id alone, as other programs expect it of a pid file.
    return f"{record.pid}\n{record.start_ticks}\n{record.boot_id}\n{record.fingerprint}\n"


def parse_record(text: str) -> ProcessRecord | None:
    """Read the text of a pid file; None if it was cut short."""
    try:
        pid, start_ticks, boot_id, fingerprint = text.split("\n")[:4]
        return ProcessRecord(
            pid=int(pid), start_ticks=int(start_ticks), boot_id=boot_id, fingerprint=fingerprint
        )
    except ValueError:
        return None


def parse_start_ticks(stat: str) -> int | None:
    """Read the start time of a living process from /proc/PID/stat.

    Returns:
        Clock ticks since boot, or None if the process has ended and waits for its parent.

    Source:
        proc(5): field 3 is the state, field 22 the start time; field 2 may hold blanks and
        parentheses.
    """
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X", "x"} else int(fields[19])


def read_start_ticks(pid: int) -> int | None:
    """Return when a process started.

    Returns:
        Clock ticks since boot, or None if no such process lives.
    """
    try:
        return parse_start_ticks(Path(f"/proc/{pid}/stat").read_text())
    except OSError:
        return None


def boot_id() -> str:
    """Return the UUID that the kernel makes at each boot."""
    return BOOT_ID.read_text().strip()


def pid_path(name: str) -> Path:
    """Return the pid file of a daemon, which need not exist."""
    return RUN_DIR / f"{name}.pid"


def running(name: str) -> ProcessRecord | None:
    """Return a daemon's record if that very process lives, else None."""
    try:
        record = parse_record(pid_path(name).read_text())
    except FileNotFoundError:
        return None
    # Ticks count from the boot, and /run need not be empty after one.
    if record is None or record.boot_id != boot_id():
        return None
    return record if read_start_ticks(record.pid) == record.start_ticks else None
