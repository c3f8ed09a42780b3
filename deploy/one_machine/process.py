"""Start daemons, and stop exactly those that were started here.

A pid file keeps the process id together with the boot and the start time of the process: a
number that the kernel has given to another process since is never taken for the daemon.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deploy.one_machine.command import CLEAN_ENVIRONMENT, POLL_S, wait_until
from deploy.one_machine.errors import StepError
from deploy.one_machine.layout import RUN_DIR, log_path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
CHILD_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A program that runs until it is stopped.

    Args:
        name: Name of its pid file and log.
        argv: Program and arguments; it stays in the foreground.
        user: Account that it runs as.
        environment: Variables beside those of the clean environment.
        cwd: Folder that it starts in.
        fingerprint: Text that says which settings it was started with.
        is_parent: Whether argv only waits for the one child that is the daemon.
        writes_log: Whether it writes its log itself; its output is then kept beside the pid file.
        stop_signal: The signal that ends it in order.
        stop_timeout_s: How long it may take to end, seconds; then it is killed.
    """

    name: str
    argv: tuple[str, ...]
    user: str = "root"
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: Path = Path("/")
    fingerprint: str = ""
    is_parent: bool = False
    writes_log: bool = False
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_s: float = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    """What a pid file says.

    Args:
        pid: Process id.
        start_ticks: Start time of the process, clock ticks since boot.
        boot_id: The boot that both belong to.
        fingerprint: Settings that the process was started with.
    """

    pid: int
    start_ticks: int
    boot_id: str
    fingerprint: str = ""


def format_record(record: ProcessRecord) -> str:
    """Return the text of a pid file.

    Args:
        record: What it says.

    Returns:
        Four lines; the first is the process id alone.
    """
    return f"{record.pid}\n{record.start_ticks}\n{record.boot_id}\n{record.fingerprint}\n"


def parse_record(text: str) -> ProcessRecord | None:
    """Read the text of a pid file.

    Args:
        text: What `format_record` returned.

    Returns:
        What it says, or None where it was cut short.
    """
    try:
        pid, start_ticks, boot_id, fingerprint = text.split("\n")[:4]
        return ProcessRecord(
            pid=int(pid), start_ticks=int(start_ticks), boot_id=boot_id, fingerprint=fingerprint
        )
    except ValueError:
        return None


def parse_start_ticks(stat: str) -> int | None:
    """Read the start time of a process that lives.

    Args:
        stat: Content of /proc/PID/stat.

    Returns:
        Clock ticks since boot, or None where the process has ended and waits for its parent.

    Source:
        proc(5): field 3 is the state, field 22 the start time; field 2 may hold blanks and
        parentheses.
    """
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X", "x"} else int(fields[19])


def start_ticks_of(pid: int) -> int | None:
    """Return when a process started.

    Args:
        pid: Process id.

    Returns:
        Clock ticks since boot, or None where no such process lives.
    """
    try:
        return parse_start_ticks(Path(f"/proc/{pid}/stat").read_text())
    except OSError:
        return None


def pid_path(name: str) -> Path:
    """Return the pid file of a daemon.

    Args:
        name: The daemon's name.

    Returns:
        Path of the file, whether it exists or not.
    """
    return RUN_DIR / f"{name}.pid"


def running(name: str) -> ProcessRecord | None:
    """Return the process of a daemon.

    Args:
        name: The daemon's name.

    Returns:
        What its pid file says if that very process lives, else None.
    """
    try:
        record = parse_record(pid_path(name).read_text())
    except FileNotFoundError:
        return None
    if record is None or record.boot_id != BOOT_ID.read_text().strip():
        return None
    return record if start_ticks_of(record.pid) == record.start_ticks else None


def ensure_started(daemon: Daemon) -> bool:
    """Start a daemon unless it runs with the same settings.

    Args:
        daemon: What to run.

    Returns:
        Whether it had to be started.

    Raises:
        StepError: If it ends at once.
    """
    record = running(daemon.name)
    if record is not None and record.fingerprint == daemon.fingerprint:
        return False
    stop(daemon)
    process = _spawn(daemon)
    pid = _only_child(process, daemon) if daemon.is_parent else process.pid
    start_ticks = start_ticks_of(pid)
    if start_ticks is None:
        raise _ended_at_once(daemon.name)
    record = ProcessRecord(
        pid=pid,
        start_ticks=start_ticks,
        boot_id=BOOT_ID.read_text().strip(),
        fingerprint=daemon.fingerprint,
    )
    pid_path(daemon.name).write_text(format_record(record))
    # The daemon outlives this program: Popen has nothing to wait for.
    process.returncode = 0
    return True


def wait_ready(name: str, is_ready: Callable[[], bool], *, timeout_s: float) -> None:
    """Wait until a daemon that was started answers.

    Args:
        name: The daemon's name.
        is_ready: Asked again and again.
        timeout_s: Longest wait, seconds.

    Raises:
        StepError: If it ends, or does not answer in time.
    """

    def is_ready_or_gone() -> bool:
        return is_ready() or running(name) is None

    wait_until(is_ready_or_gone, timeout_s=timeout_s, what=f"{name} answers", log=log_path(name))
    if running(name) is None:
        raise _ended_at_once(name)


def stop(daemon: Daemon) -> bool:
    """Stop a daemon if it runs.

    Args:
        daemon: What to stop.

    Returns:
        Whether it ran.
    """
    record = running(daemon.name)
    if record is not None:
        _signal(record, daemon.stop_signal)
        if not _has_ended(record, daemon.stop_timeout_s):
            _signal(record, signal.SIGKILL)
            _has_ended(record, daemon.stop_timeout_s)
    pid_path(daemon.name).unlink(missing_ok=True)
    return record is not None


def _spawn(daemon: Daemon) -> subprocess.Popen[bytes]:
    account = pwd.getpwnam(daemon.user)
    with open(_open_output(daemon, account.pw_uid), "ab") as output:
        return subprocess.Popen(
            daemon.argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=daemon.cwd,
            env={**CLEAN_ENVIRONMENT, "HOME": account.pw_dir, **daemon.environment},
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=os.getgrouplist(daemon.user, account.pw_gid),
            start_new_session=True,
            umask=0o022,
        )


def output_path(name: str) -> Path:
    """Return where the output of a daemon that writes its own log goes.

    Args:
        name: The daemon's name.

    Returns:
        Path of the file, whether it exists or not.
    """
    return RUN_DIR / f"{name}.out"


def _open_output(daemon: Daemon, user_id: int) -> int:
    if daemon.writes_log:
        path, how = output_path(daemon.name), os.O_TRUNC
    else:
        path, how = log_path(daemon.name), os.O_APPEND
    file = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    os.fchown(file, user_id, -1)
    return file


def _only_child(process: subprocess.Popen[bytes], daemon: Daemon) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + CHILD_TIMEOUT_S
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            if pids := children.read_text().split():
                return int(pids[0])
        time.sleep(0.01)
    raise _ended_at_once(daemon.name)


def _ended_at_once(name: str) -> StepError:
    output = output_path(name) if output_path(name).exists() else log_path(name)
    said = output.read_text(errors="replace") if output.exists() else ""
    last_lines = "".join(f"\n{line}" for line in said.splitlines()[-5:])
    return StepError(
        f"{name} ended soon after it was started.{last_lines}",
        next_step="Read the end of the log, then run deploy/up again.",
        log=log_path(name),
    )


def _signal(record: ProcessRecord, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(record.pid, number)


def _has_ended(record: ProcessRecord, timeout_s: float) -> bool:
    end = time.monotonic() + timeout_s
    while start_ticks_of(record.pid) == record.start_ticks:
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S / 5)
    return True
