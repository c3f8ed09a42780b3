#!/usr/bin/python3 -I
"""systemctl for a machine on which systemd does not run: it does what the units' own lines say.

It knows enable --now, disable --now, daemon-reload, start, stop, restart, reload and is-active.
Of a unit it heeds User, WorkingDirectory, Environment, EnvironmentFile, ExecStart, ExecReload,
StandardOutput, LimitNOFILE, UMask, NoNewPrivileges and Type; it restarts nothing, and does not
shield files.
"""

from __future__ import annotations

import os
import pwd
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

FOLDERS = (Path("/etc/systemd/system"), Path("/lib/systemd/system"))
RUN_DIR = Path("/run/units")
STOP_TIMEOUT_S = 40

Unit = dict[str, list[str]]


def main(words: list[str]) -> int:
    """Do what systemctl does."""
    command, *names = [word for word in words if not word.startswith("-")]
    RUN_DIR.mkdir(exist_ok=True)
    units = {name if "." in name else f"{name}.service": name for name in names}
    read = {name: read_unit(name) for name in units}
    if command == "enable":
        command = "start" if "--now" in words else "none"
        if lacking := [name for name, unit in read.items() if not unit["WantedBy"]]:
            print(f"{lacking[0]} has no installation config", file=sys.stderr)
            return 1
    if command == "disable":
        command = "stop" if "--now" in words else "none"
    for name, unit in read.items():
        if command in {"stop", "restart"}:
            stop(name)
        if command in {"start", "restart"} and name.endswith(".service"):
            start(name, unit)
        if command == "reload":
            subprocess.run(shlex.split(unit["ExecReload"][0]), check=True)
        if command == "is-active" and pid_of(name) is None:
            return 3
    return 0


def read_unit(name: str) -> Unit:
    """Return the lines of a unit by their key."""
    path = next((folder / name for folder in FOLDERS if (folder / name).exists()), None)
    if path is None:
        raise SystemExit(f"Unit {name} could not be found.")
    unit: Unit = defaultdict(list)
    for line in path.read_text().splitlines():
        key, has_value, value = line.partition("=")
        if has_value and not line.startswith("#"):
            unit[key.strip()].append(value.strip())
    return unit


def start(name: str, unit: Unit) -> None:
    """Start a service, unless it runs."""
    if pid_of(name) is not None:
        return
    account = pwd.getpwnam((unit["User"] or ["root"])[0])
    output = (unit["StandardOutput"] or ["append:/dev/null"])[0].removeprefix("append:")
    argv = shlex.split(unit["ExecStart"][0])
    if "yes" in unit["NoNewPrivileges"]:
        argv = ["setpriv", "--no-new-privs", *argv]

    # This process ends soon; what it starts inherits the limit.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    n_files = min(most, int((unit["LimitNOFILE"] or ["1024"])[0]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_files, most))
    # As systemd does, root opens the log before the account counts.
    with open(output, "ab") as log:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=(unit["WorkingDirectory"] or ["/"])[0],
            env=variables_of(unit, account),
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=os.getgrouplist(account.pw_name, account.pw_gid),
            start_new_session=True,
            umask=int((unit["UMask"] or ["0022"])[0], 8),
        )
    if (unit["Type"] or ["simple"])[0] in {"oneshot", "forking"}:
        if process.wait(120) != 0:
            raise SystemExit(f"Job for {name} failed.")
        return
    (RUN_DIR / name).write_text(str(process.pid))


def variables_of(unit: Unit, account: pwd.struct_passwd) -> dict[str, str]:
    """Return the environment that systemd would give."""
    variables = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
        "LANG": "C.UTF-8",
        "HOME": account.pw_dir,
        "USER": account.pw_name,
        "LOGNAME": account.pw_name,
    }
    lines = [line for text in unit["Environment"] for line in shlex.split(text)]
    for path in unit["EnvironmentFile"]:
        if Path(path.removeprefix("-")).exists() or not path.startswith("-"):
            lines += Path(path.removeprefix("-")).read_text().splitlines()
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#;")
    return variables | {name: value for name, _, value in pairs}


def stop(name: str) -> None:
    """End a service as systemd does."""
    pid = pid_of(name)
    if pid is None:
        return
    os.killpg(pid, signal.SIGTERM)
    end = time.monotonic() + STOP_TIMEOUT_S
    while pid_of(name) is not None:
        if time.monotonic() > end:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.1)


def pid_of(name: str) -> int | None:
    """Return the process of a service that runs."""
    path = RUN_DIR / name
    if not path.exists():
        return None
    pid = int(path.read_text())
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None
    return None if state == "Z" else pid


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
