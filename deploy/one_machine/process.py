"""Starts daemons, and stops exactly those that were started here."""

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

from deploy.common.command import CLEAN_ENVIRONMENT, POLL_S, wait_until
from deploy.common.errors import DeployError
from deploy.common.files import ensure_folder
from deploy.one_machine.layout import RUN_DIR, log_path
from deploy.one_machine.pidfile import (
    ProcessRecord,
    boot_id,
    format_record,
    pid_path,
    read_start_ticks,
    running,
)

CHILD_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A program that runs until it is stopped.

    Args:
        name: Name of its pid file and log.
        argv: Program and arguments; it stays in the foreground.
        environment: Variables in addition to the clean environment.
        fingerprint: Text that changes with the settings it was started with.
        is_parent: Whether argv only waits for its one child, which is the daemon.
        writes_log: Whether it writes its log itself; its output then goes next to the pid file.
        stop_signal: The signal that ends it in an orderly way.
        umask: Permission bits that new files do not get.
        stop_timeout_s: How long it may take to end; then it is killed.
        nice: Its priority for the processor, which its children inherit, from -20 (first) to 19.
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
    umask: int = 0o022
    stop_timeout_s: float = 20
    nice: int = 0


class DaemonEndedError(DeployError):
    """A daemon ended soon after it was started.

    Args:
        log: Where it wrote last.
    """

    def __init__(self, name: str, log: Path) -> None:
        said = log.read_text(errors="replace") if log.exists() else ""
        last_lines = "".join(f"\n{line}" for line in said.splitlines()[-5:])
        super().__init__(
            f"{name} ended soon after it was started.{last_lines}",
            next_step="Read the end of the log, then run deploy/up again.",
            log=log,
        )


def ensure_started(daemon: Daemon) -> bool:
    """Start a daemon unless it already runs with the same settings.

    Returns:
        Whether it had to be started.
    """
    record = running(daemon.name)
    if record is not None and record.fingerprint == daemon.fingerprint:
        return False
    stop(daemon)
    process = _spawn(daemon)
    if daemon.nice:
        _set_priority(process.pid, daemon.nice)
    pid = _only_child(process, daemon) if daemon.is_parent else process.pid
    start_ticks = read_start_ticks(pid)
    if start_ticks is None:
        raise DaemonEndedError(daemon.name, _last_words(daemon.name))
    record = ProcessRecord(
        pid=pid,
        start_ticks=start_ticks,
        boot_id=boot_id(),
        fingerprint=daemon.fingerprint,
    )
    pid_path(daemon.name).write_text(format_record(record))
    # The daemon outlives this program: Popen has nothing to wait for.
    process.returncode = 0
    return True


def wait_ready(name: str, is_ready: Callable[[], bool], *, timeout_s: float) -> None:
    """Wait until a started daemon answers.

    `is_ready` is polled for at most `timeout_s`.
    """

    def is_ready_or_gone() -> bool:
        return is_ready() or running(name) is None

    wait_until(is_ready_or_gone, timeout_s=timeout_s, what=f"{name} answers", log=log_path(name))
    if running(name) is None:
        raise DaemonEndedError(name, _last_words(name))


def stop(daemon: Daemon) -> bool:
    """Stop a daemon if it runs; return whether it ran."""
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
            # Ctrl-C in the terminal of deploy/up must not reach the daemon.
            start_new_session=True,
            umask=daemon.umask,
        )


def _set_priority(pid: int, nice: int) -> None:
    # A container may not let root do that; then all programs are equal.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
        # Where the kernel shares the processor out among login sessions, of which each daemon and
        # each job is one, nice counts only within them, and this between them.
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def output_path(name: str) -> Path:
    """Return the output file of a daemon that writes its own log; it need not exist."""
    return RUN_DIR / f"{name}.out"


def _open_output(daemon: Daemon, user_id: int) -> int:
    # Whoever tidies up /var/log may have taken the folder away, and no daemon starts without it.
    ensure_folder(log_path(daemon.name).parent)
    if daemon.writes_log:
        # Only the last start: all else is in the log that it writes itself.
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
    raise DaemonEndedError(daemon.name, _last_words(daemon.name))


def _last_words(name: str) -> Path:
    return output_path(name) if output_path(name).exists() else log_path(name)


def _signal(record: ProcessRecord, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(record.pid, number)


def _has_ended(record: ProcessRecord, timeout_s: float) -> bool:
    end = time.monotonic() + timeout_s
    while read_start_ticks(record.pid) == record.start_ticks:
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S / 5)
    return True
