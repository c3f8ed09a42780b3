"""The daemons of the demo, which Debian's supervisor runs, and only those.

Supervisor knows neither when a daemon answers nor which need one another: the steps of deploy/up
start each once those before it answer. A daemon that died stays down until deploy/up runs again.
"""

import contextlib
import hashlib
import http.client
import os
import signal
import socket
import xmlrpc.client
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from deploy.common.command import run, wait_until
from deploy.common.errors import DeployError
from deploy.common.files import ensure_file, ensure_folder
from deploy.one_machine.layout import (
    LOG_DIR,
    NAMESPACE,
    RUN_DIR,
    SUPERVISOR_DIR,
    TEMPLATES_DIR,
    render,
)

PROGRAMS_DIR = SUPERVISOR_DIR / "programs"
CONFIGURATION = SUPERVISOR_DIR / "supervisord.conf"
SOCKET = RUN_DIR / "supervisor.sock"
# Pages have to come while the sessions on the same processor start.
NICE = -10
END_TIMEOUT_S = 90


class DaemonEndedError(DeployError):
    """A daemon ended soon after it was started."""

    def __init__(self, name: str, log: Path) -> None:
        said = log.read_text(errors="replace") if log.exists() else ""
        last_lines = "".join(f"\n{line}" for line in said.splitlines()[-5:])
        super().__init__(
            f"{name} ended soon after it was started.{last_lines}",
            next_step="Read the end of the log, then run deploy/up again.",
            log=log,
        )


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(SOCKET))


class _Transport(xmlrpc.client.Transport):
    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        self._connection = host, _Connection(host)
        return self._connection[1]


def _ask(method: str, *words: object) -> Any:
    """Call a method of supervisor; what it raises is an OSError if none runs.

    Source:
        http://supervisord.org/api.html, 4.2.
    """
    with xmlrpc.client.ServerProxy("http://localhost", _Transport()) as server:
        return getattr(server, f"supervisor.{method}")(*words)


def ensure_started(
    name: str, template: str = "", *, read_at_start: Sequence[Path] = (), **values: object
) -> bool:
    """Start a daemon unless it already runs with the same settings.

    Args:
        name: Its name.
        template: Name of its settings in templates/programs; empty if it is the daemon's.
        read_at_start: Files whose change makes it start again.
        values: What the template names and `layout` does not.

    Returns:
        Whether it had to be started.
    """
    # Everybody can read what a daemon was started with.
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in read_at_start)).hexdigest()
    named = {"NAME": name, "READ_AT_START": digest, **values}
    # A percent sign would begin one of supervisor's own names.
    named = {key: str(value).replace("%", "%%") for key, value in named.items()}
    parts = [render(f"programs/{part}.conf", **named) for part in ("all", template or name)]
    _ensure_supervisor()
    ensure_file(PROGRAMS_DIR / f"{name}.conf", "".join(parts), mode=0o600)
    _take_over(name)
    if pid_of(name) is not None:
        return False
    try:
        _ask("startProcess", name, False)
    except xmlrpc.client.Fault as fault:
        raise DeployError(
            f"{name} could not be started: {fault.faultString}.",
            next_step="Read the end of the log, then run deploy/up again.",
            log=LOG_DIR / "supervisord.log",
        ) from fault
    return True


def ensure_running(
    name: str,
    is_ready: Callable[[], bool],
    *,
    timeout_s: float,
    template: str = "",
    read_at_start: Sequence[Path] = (),
    **values: object,
) -> str:
    """Start a daemon like `ensure_started`, and wait until it answers; return what was done.

    `values` are what its template names and `layout` does not.
    """
    started = ensure_started(name, template, read_at_start=read_at_start, **values)
    wait_ready(name, is_ready, timeout_s=timeout_s)
    return "started" if started else "runs"


def wait_ready(name: str, is_ready: Callable[[], bool], *, timeout_s: float) -> None:
    """Wait until a started daemon answers.

    `is_ready` is polled for at most `timeout_s`.
    """
    log = Path(_ask("getProcessInfo", name)["stdout_logfile"])
    wait_until(
        lambda: is_ready() or pid_of(name) is None,
        timeout_s=timeout_s,
        what=f"{name} answers",
        log=log,
    )
    if pid_of(name) is None:
        raise DaemonEndedError(name, log)


def pid_of(name: str) -> int | None:
    """Return a daemon's process, None if it does not run.

    A node's is that of its process 1, for which unshare(1) waits.
    """
    try:
        pid = _ask("getProcessInfo", name)["pid"]
        if not pid or Path(f"/proc/{pid}/comm").read_text() != "unshare\n":
            return int(pid) or None
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else int(pid)
    except (OSError, xmlrpc.client.Fault):
        return None


def stop(name: str) -> bool:
    """Stop a daemon if it runs, and kill it if it does not end in time; return whether it ran."""
    with contextlib.suppress(OSError, xmlrpc.client.Fault):
        return bool(_ask("stopProcess", name))
    return False


def names() -> list[str]:
    """Return the daemons that deploy/up has started and not forgotten."""
    return sorted(path.stem for path in PROGRAMS_DIR.glob("*.conf"))


def forget(name: str) -> None:
    """Stop a daemon that is never started again."""
    _ensure_supervisor()
    stop(name)
    (PROGRAMS_DIR / f"{name}.conf").unlink(missing_ok=True)
    _take_over(name)


def shut_down() -> None:
    """Stop supervisor, and what one that was killed has left."""
    with contextlib.suppress(OSError, xmlrpc.client.Fault):
        _ask("shutdown")
    wait_until(lambda: not _is_answering(), timeout_s=END_TIMEOUT_S, what="supervisord ends")
    end_orphans()


def end_orphans() -> None:
    """End the daemons that a supervisord which was killed has left."""
    if _is_answering():
        return
    orphans = [pid for pid in _orphans() if pid != os.getpid()]
    for pid in orphans:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(
        lambda: not set(_orphans()) & set(orphans),
        timeout_s=END_TIMEOUT_S,
        what="the daemons of a supervisord that was killed end",
    )


def _ensure_supervisor() -> None:
    ensure_folder(PROGRAMS_DIR, mode=0o700)
    ensure_file(NAMESPACE, (TEMPLATES_DIR.parent / NAMESPACE.name).read_text())
    # Whoever tidies up /var/log may have taken the folder away, and no daemon starts without it.
    for folder in (LOG_DIR, RUN_DIR):
        ensure_folder(folder)
    if _is_answering():
        return
    end_orphans()
    ensure_file(CONFIGURATION, render("supervisord.conf"))
    # nice(1) goes on where root may not, as in a container; then all programs are equal.
    run(["nice", "-n", str(NICE), "supervisord", "-c", CONFIGURATION])
    with contextlib.suppress(OSError):
        # Where the kernel shares the processor out among login sessions, of which the daemons are
        # one and each job is another, nice counts only within them, and this between them.
        Path("/proc", str(_ask("getPID")), "autogroup").write_text(str(NICE))


def _is_answering() -> bool:
    try:
        _ask("getState")
    except OSError:
        return False
    except xmlrpc.client.Fault:
        # It is about to end.
        return True
    return True


def _take_over(name: str) -> None:
    """Let supervisor read the settings; of a daemon whose have changed, the old one ends."""
    ((added, changed, removed),) = _ask("reloadConfig")
    if name in changed or name in removed:
        stop(name)
        _ask("removeProcessGroup", name)
    if name in added or name in changed:
        _ask("addProcessGroup", name)


def _orphans() -> Iterator[int]:
    # supervisord gives each daemon its address, which their children keep.
    mark = f"SUPERVISOR_SERVER_URL=unix://{SOCKET}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
