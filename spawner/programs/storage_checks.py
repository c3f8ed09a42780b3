#!/usr/bin/python3 -IS
"""Looks at storage in child processes that may hang while nobody waits for them.

The launcher runs this as the user; it is installed next to it as `dsportal-storage-checks` and is
as self-contained. On standard input a JSON object of checks by name, each with some of:

    {"timeout_s": 3, "home": {"min_free_mib": 16, "may_be_full": false},
     "shared:NAME": {"path": "/...", "is_mount": false}, "server": {"path": "/..."},
     "space:NAME": {"path": "~"}, "quota:NAME": {"path": "~"}}

and on standard output their results: {"home": {"fault": "full", "free_mib": 0}, ...}. A fault is
"full", "unwritable", "missing", "unmounted", "unreadable", "no-answer", "failed" for a check that
could not be made, or "" for none. Each check is a process of its own. One that does not answer in
time is killed and left alone: a process that a file server blocks cannot even be killed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pwd
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

STATE_FOLDER = ".local/state/data-scientist-portal"
# A notebook server writes some small files before it answers.
PROBE_BYTES = 256 * 1024
LONGEST_TIMEOUT_S = 10.0
# The site's own, run as the user with a folder as argument; prints bytes used and bytes allowed.
QUOTA_PROGRAM = "/etc/data-scientist-portal/quota"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class _Check(NamedTuple):
    pid: int
    answer: int


def main() -> int:
    """Answer the one request on standard input.

    Returns:
        Exit status: 0 if the request was understood, else 2.
    """
    try:
        found = answer(json.loads(sys.stdin.buffer.read(65536)))
    except ValueError as error:
        print(f"dsportal-storage-checks: {error}", file=sys.stderr)
        return 2
    print(json.dumps(found))
    return 0


def answer(asked: object) -> dict[str, dict[str, Any]]:
    """Return the results of the checks in one request, by name.

    Args:
        asked: A JSON object as in the module's docstring.

    Raises:
        ValueError: If it has another form.
    """
    if not isinstance(asked, dict) or not {_kind(name) for name in asked} <= {"timeout_s", *CHECKS}:
        raise ValueError("the checks are not known")
    checks = {name: what for name, what in asked.items() if name != "timeout_s"}
    # The launcher waits for these checks, and the hub gives the launcher 25 s.
    return look(checks, min(float(asked.get("timeout_s", 3.0)), LONGEST_TIMEOUT_S))


def _kind(name: str) -> str:
    """Return the kind of a check; there may be several of a kind, with a name behind a colon."""
    return name.partition(":")[0]


def look(checks: Mapping[str, Mapping[str, Any]], timeout_s: float) -> dict[str, dict[str, Any]]:
    """Return the results of checks, by name; all of them run at once.

    Args:
        checks: Parameters of each check, by name, as JSON objects.
        timeout_s: Seconds until all that have not answered are given up.
    """
    give_up_at = time.monotonic() + timeout_s
    # All are started before any is waited for, so that together they take one timeout.
    running = {name: _start(name, what) for name, what in checks.items()}
    return {name: _take(process, give_up_at) for name, process in running.items()}


def check_home(what: Mapping[str, Any]) -> dict[str, Any]:
    """Write a small file into the home folder and delete it.

    Args:
        what: "min_free_mib", the free space needed, and "may_be_full", which allows a full home.

    Returns:
        "fault", the system's error text as "detail", the "path" of a missing home, and "free_mib"
        unless it is unknown or a quota is used up.
    """
    # Not $HOME, which whoever starts this program sets.
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    probe = home / STATE_FOLDER / f".preflight-{os.getpid()}"
    try:
        probe.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with probe.open("wb") as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            # Network file systems report an exceeded quota only here.
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in _FULL and _is_missing(home):
            return {"fault": "missing", "path": str(home)}
        full = "" if what.get("may_be_full") else "full"
        fault = full if error.errno in _FULL else "unwritable"
        # With a quota, free space of the file system need not be free for the user.
        free = {} if error.errno == errno.EDQUOT else _free(home)
        return {"fault": fault, "detail": error.strerror, **free}
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)
    free = _free(home)
    is_full = bool(free) and free["free_mib"] < what["min_free_mib"] and not what.get("may_be_full")
    return {"fault": "full" if is_full else "", **free}


def check_shared(what: Mapping[str, Any]) -> dict[str, Any]:
    """List the shared storage.

    Args:
        what: Its "path", and "is_mount": whether that has to be the root of a mount.

    Returns:
        "fault", with the system's error text as "detail".
    """
    try:
        with os.scandir(what["path"]) as entries:
            next(entries, None)
        # After the listing, which makes an automounter mount it.
        is_lost = what["is_mount"] and not os.path.ismount(what["path"])
    except FileNotFoundError:
        return {"fault": "missing"}
    except OSError as error:
        return {"fault": "unreadable", "detail": error.strerror}
    return {"fault": "unmounted" if is_lost else ""}


def check_server(what: Mapping[str, Any]) -> dict[str, Any]:
    """Return as "fault" whether the program of the notebook server is missing.

    Args:
        what: Its "path".
    """
    return {"fault": "" if os.access(what["path"], os.X_OK) else "missing"}


def check_space(what: Mapping[str, Any]) -> dict[str, Any]:
    """Return size and use of a file system, without what only root may fill.

    Args:
        what: The "path" of a folder in it, "~" for the home.

    Returns:
        "total_bytes" and "used_bytes"; "fault" for a folder that the user may not enter, too.

    Source:
        df(1), which counts blocks kept for root neither as used nor as free.
    """
    try:
        disk = os.statvfs(os.path.expanduser(what["path"]))
    except OSError:
        return {"fault": "missing"}
    used = disk.f_blocks - disk.f_bfree
    total = used + disk.f_bavail
    sizes = {"total_bytes": total * disk.f_frsize, "used_bytes": used * disk.f_frsize}
    return {"fault": "", **sizes}


def check_quota(what: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the site's own program about the user's quota.

    Args:
        what: The "path" of the folder, "~" for the home.

    Returns:
        The first 200 characters of what it "said".
    """
    if not os.access(QUOTA_PROGRAM, os.X_OK):
        return {"fault": "missing"}
    done = subprocess.run(
        [QUOTA_PROGRAM, os.path.expanduser(what["path"])],
        cwd="/",
        # The home may be the folder that hangs.
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    said = done.stdout[:200].decode("ascii", "replace")
    return {"fault": "failed" if done.returncode else "", "said": said}


CHECKS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "home": check_home,
    "shared": check_shared,
    "server": check_server,
    "space": check_space,
    "quota": check_quota,
}


def _is_missing(folder: Path) -> bool:
    try:
        os.stat(folder)
    except OSError as error:
        return error.errno in {errno.ENOENT, errno.ENOTDIR}
    return False


def _free(folder: Path) -> dict[str, int]:
    with contextlib.suppress(OSError):
        space = os.statvfs(folder)
        return {"free_mib": space.f_bavail * space.f_frsize // 1024**2}
    return {}


def _start(name: str, what: Mapping[str, Any]) -> _Check:
    read_end, write_end = os.pipe()
    # A fork: another Python would take longer to start than the check takes.
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write_end, json.dumps(_look_at(name, what)).encode())
        finally:
            # Not sys.exit(), which would flush and close what belongs to the parent.
            os._exit(0)
    os.close(write_end)
    return _Check(pid, read_end)


def _look_at(name: str, what: Mapping[str, Any]) -> dict[str, Any]:
    try:
        _leave_terminal_and_pipes()
        return CHECKS[_kind(name)](what)
    # Whatever it is: without an answer the fault would be the file server's.
    except Exception as error:
        return {"fault": "failed", "detail": f"{type(error).__name__}: {error}"[:200]}


def _leave_terminal_and_pipes() -> None:
    os.setsid()
    # A reader that waits for the end of this program's output must not wait for a hanging check.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _take(check: _Check, give_up_at: float) -> dict[str, Any]:
    left_s = max(0.0, give_up_at - time.monotonic())
    # The answer is one short line, so a single read returns all of it.
    if select.select([check.answer], [], [], left_s)[0]:
        with contextlib.suppress(ValueError):
            found: dict[str, Any] = json.loads(os.read(check.answer, 65536))
            return found
        return {"fault": "failed", "detail": "it ended without a result"}
    with contextlib.suppress(OSError):
        # With what it has started, such as the site's program.
        os.killpg(check.pid, signal.SIGKILL)
    return {"fault": "no-answer"}


if __name__ == "__main__":
    sys.exit(main())
