#!/usr/bin/python3 -IS
"""Free space of folders, read by child processes that may hang while nobody waits for them.

The launcher runs this as the user; it is installed next to it as `dsportal-storage` and is as
self-contained: a JSON list of folders on standard input, "~" for the home; on standard output an
object with two texts for each, "statfs" as stat(1) prints it and "quota" as the site's own program
prints it. Both are empty for a folder whose server does not answer. "is_missing" tells of a folder
that is not there, or that the user may not enter.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

# The site's own, run as the user with a folder as argument; prints bytes used and bytes allowed.
QUOTA_PROGRAM = "/etc/data-scientist-portal/quota"
# A program of its own: os.statvfs would hang this one together with the file system.
STAT_ARGV = ("/usr/bin/stat", "--file-system", "--format=%S %b %f %a", "--")
MOST_FOLDERS = 8
TIMEOUT_S = 2.0


def main() -> int:
    """Answer the one request on standard input.

    Returns:
        Exit status: 0 if the request was understood, else 2.
    """
    folders = json.loads(sys.stdin.buffer.read(65536))
    if not isinstance(folders, list) or len(folders) > MOST_FOLDERS:
        print(f"dsportal-storage: at most {MOST_FOLDERS} folders", file=sys.stderr)
        return 2
    for folder in folders:
        if not isinstance(folder, str) or folder[:1] not in {"/", "~"} or "\0" in folder:
            print(f"dsportal-storage: bad folder {folder!r:.60}", file=sys.stderr)
            return 2
    said = {folder: look(os.path.expanduser(folder)) for folder in folders}
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    # On a normal exit Python would wait for children that hang.
    os._exit(0)


def look(folder: str) -> dict[str, str | bool]:
    """Return "statfs" and "quota" of one folder, empty if they are not known, and "is_missing"."""
    statfs = run_probe([*STAT_ARGV, folder])
    if statfs is None:
        return {"statfs": "", "quota": "", "is_missing": True}
    # If the file system does not answer, its quota would only take as long again.
    has_quota = bool(statfs) and os.access(QUOTA_PROGRAM, os.X_OK)
    quota = run_probe([QUOTA_PROGRAM, folder]) if has_quota else ""
    return {"statfs": statfs, "quota": quota or "", "is_missing": False}


def run_probe(argv: list[str], *, timeout_s: float = TIMEOUT_S) -> str | None:
    """Return the first 200 characters that a program prints; empty if too slow, None if it fails.

    Args:
        timeout_s: Seconds until it is killed and left alone: a process that a file server blocks
            cannot even be killed.
    """
    try:
        process = subprocess.Popen(
            argv,
            cwd="/",
            # The home may be the folder that hangs.
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # A group of its own, so that what the site's program starts is killed with it.
            start_new_session=True,
        )
    except OSError:
        return ""
    try:
        out, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return ""
    return out.decode("ascii", "replace")[:200].strip() if process.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
