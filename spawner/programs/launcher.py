#!/usr/bin/python3 -IS
# -I -S: nothing in the user's home decides what it imports.
"""The one program that sudo lets the hub run as a user.

It is self-contained: only Python's standard library, no argument, one JSON object on standard
input, one on standard output. What it can do is fixed here, so that a fault in the hub does not
become a command of the hub's choice:

    {"verb": "submit", "arguments": [...], "script": "...", "environment": {...},
     "checks": {"home": {...}, ...}, "refuse": ["home"]}        a preflight first, if there are any
    {"verb": "forecast", "arguments": [...], "script": "...", "environment": {...}}
                                                         the same with sbatch --test-only
    {"verb": "cancel", "job_id": 42, "job_name": "dsportal-..."}
    {"verb": "log_tail", "job_id": 42}
    {"verb": "storage_checks", "checks": {"home": {...}, ...}}    see storage_checks.py

Each may name a "cluster" other than the one that Slurm's programs ask by themselves.
The answer is {"ok": true, ...}, or {"ok": false, "exit_code": ..., "stderr": "..."}.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
# Root's list of further clusters, which outlives versions of the portal: a line NAME=PATH each.
CLUSTERS = Path("/etc/data-scientist-portal/clusters.env")
LOG_FOLDER = "logs"  # of sessions, below STATE_FOLDER
N_LOGS_KEPT = 20
LOG_BYTES = 65536  # of its end, as the hub reads it
STATE_FOLDER = ".local/state/data-scientist-portal"
# Less than the hub waits for this program, so that the hub hears what was the matter.
TIMEOUT_S = 15
SQUEUE_FIELDS = "%U|%j"  # uid and name of a job

# Options of sbatch of a job, by the form of their values; none that starts programs or names files.
_OPTIONS_BY_FORM = {
    # Names as Slurm lists them, or several.
    r"[^-\x00-\x1f\x7f][^\x00-\x1f\x7f]*": (
        "account clusters gpus-per-node gres mcs-label partition qos reservation wckey"
    ),
    r"[A-Za-z0-9_][A-Za-z0-9_.,:+-]*": (
        "cpu-freq gpu-bind gpu-freq gres-flags hint job-name mail-type mem-bind network power "
        "profile"
    ),
    r"[0-9]+": "cpus-per-gpu cpus-per-task priority threads-per-core",
    r"[0-9]+[KMGT]?": "mem mem-per-cpu mem-per-gpu tmp",
    r"[0-9:-]+": "time time-min",
    r"[A-Za-z0-9:+-]+": "begin deadline",
    r"[A-Za-z0-9_.,\[\]-]+": "exclude nodelist",
    r"[A-Za-z0-9_.,:@|-]+": "licenses",
    r"[A-Za-z0-9_.+@-]+": "mail-user",
    r"[A-Za-z0-9_.,:&|*()\[\]-]+": "constraint",
    r"[A-Za-z0-9_.,:=/ +-]*": "comment",
    r"[A-Z0-9:@]+": "signal",
    r"(?:user|mcs|topo)?": "exclusive",
    r"-?[0-9]*": "nice",
    # A session is one task on one node.
    r"1": "nodes ntasks",
}
_OPTIONS = {name: form for form, names in _OPTIONS_BY_FORM.items() for name in names.split()}
_FLAG = re.compile("contiguous|exclusive|hold|nice|no-requeue|oversubscribe|use-min-nodes")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_SLURM_NAME = re.compile(r"(?:SBATCH|SLURM|SQUEUE|SCANCEL)_")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}", re.ASCII)
# sbatch --parsable prints the name of the cluster after a semicolon, if there are several.
_PARSABLE_JOB_ID = re.compile(r"^([0-9]+)(?:;\S*)?$", re.ASCII | re.MULTILINE)


def main() -> None:
    """Answer the one request on standard input."""
    # The hub's umask keeps its files private; the files of a user's session are not the hub's.
    os.umask(0o022)
    try:
        request = json.loads(sys.stdin.buffer.read(4 * 1024 * 1024))
        answer = answer_request(request, _account())
    # Whatever it is: without an answer the hub would blame sudo.
    except Exception as error:
        answer = {"ok": False, "exit_code": 2, "stderr": f"dsportal-launcher: {error}"}
    sys.stdout.write(json.dumps(answer) + "\n")


def answer_request(request: dict[str, Any], account: pwd.struct_passwd) -> dict[str, Any]:
    """Return the answer to one `request`, a JSON object with its "verb", after carrying it out."""
    functions = (_submit, _forecast, _cancel, _log_tail, _storage_checks)
    verbs = {function.__name__.removeprefix("_"): function for function in functions}
    verb = request.get("verb") if isinstance(request, dict) else None
    if not isinstance(verb, str) or verb not in verbs:
        raise ValueError(f"unknown verb {verb!r:.60}")
    if "cluster" in request:
        os.environ["SLURM_CONF"] = _slurm_conf(_name(request["cluster"]))
    return verbs[verb](request, account)


def _slurm_conf(cluster: str) -> str:
    # The hub gives a name, root the path: a line NAME=PATH for each further cluster.
    text = CLUSTERS.read_text() if CLUSTERS.exists() else ""
    known = re.findall(r"^(.+?)=(/.+)$", text, re.MULTILINE)
    if cluster not in dict(known):
        raise ValueError(f"{CLUSTERS} has no line {cluster}=/path/of/its/slurm.conf")
    return str(dict(known)[cluster])


def checked_arguments(arguments: object) -> list[str]:
    """Return `arguments` of sbatch, "--name=value" or "--name", if each is known and valid."""
    if not isinstance(arguments, list) or len(arguments) > 64:
        raise ValueError("arguments must be a list of at most 64 texts")
    for argument in arguments:
        if not isinstance(argument, str) or not argument.startswith("--") or len(argument) > 1024:
            raise ValueError(f"bad argument {argument!r:.60}")
        name, has_value, value = argument[2:].partition("=")
        form = _OPTIONS.get(name)
        known_form = form if has_value else "" if _FLAG.fullmatch(name) else None
        if known_form is None or not re.fullmatch(known_form, value, re.ASCII):
            raise ValueError(f"sbatch option {argument!r:.60} is not allowed")
    return arguments


def _submit(request: dict[str, Any], account: pwd.struct_passwd) -> dict[str, Any]:
    arguments, script = checked_arguments(request.get("arguments")), _text(request, "script")
    environment = _environment(request)
    found = _look(request)
    if any(found[name]["fault"] for name in request.get("refuse", ())):
        return {"ok": True, "job_id": 0, "checks": found}
    # A full home cannot hold a log; then the script keeps its own.
    keeps_log = request.get("keeps_log") is not False
    output = _new_log(account, _log_name(request, "%j")) if keeps_log else "/dev/null"
    # --propagate=NONE: the resource limits of the hub's process are not those of a session.
    fixed = ["--parsable", "--export=ALL", "--propagate=NONE", f"--chdir={account.pw_dir}"]
    argv = ["sbatch", *fixed, f"--output={output}", *arguments]
    done = _run(argv, account, environment=environment, text=script)
    if not done["ok"]:
        return done
    match = _PARSABLE_JOB_ID.search(done["stdout"])
    if match is None:
        raise ValueError(f"sbatch printed no job id but {done['stdout']!r:.200}")
    return done | {"job_id": int(match[1]), "checks": found}


def _look(request: dict[str, Any]) -> dict[str, Any]:
    checks = request.get("checks")
    if not checks:
        return {}
    # In this process: another Python would take longer to start than all checks take.
    program = Path(__file__).with_name("dsportal-storage-checks")
    names: dict[str, Any] = {"__name__": "storage_checks"}
    exec(compile(program.read_bytes(), program, "exec"), names)  # noqa: S102
    return dict(names["answer"](checks))


def _forecast(request: dict[str, Any], account: pwd.struct_passwd) -> dict[str, Any]:
    argv = ["sbatch", "--test-only", *checked_arguments(request.get("arguments"))]
    script, environment = _text(request, "script"), _environment({"environment": {}} | request)
    return _run(argv, account, environment=environment, text=script)


def _cancel(request: dict[str, Any], account: pwd.struct_passwd) -> dict[str, Any]:
    # After a crash of slurmctld a job id can belong to another job, so the name has to match.
    job_id, job_name = _job_id(request), _name(request.get("job_name"))
    # Names can hold line breaks, but nobody can forge a line without the nonce.
    nonce = os.urandom(8).hex()
    # --all: also in a partition that is hidden, or closed to this user by now.
    options = ["--noheader", "--all", f"--jobs={job_id}", f"--format={nonce}|{SQUEUE_FIELDS}"]
    seen = _run(["squeue", *options], account)
    if not seen["ok"] and "Invalid job id" not in seen["stderr"]:
        return seen
    rows = [line.split("|", 2) for line in seen.get("stdout", "").split("\n")]
    uids = [row[1] for row in rows if (row[0], row[-1]) == (nonce, job_name)]
    # Slurm 22.05 prints a uid from 2 ** 31 on as a negative number.
    if account.pw_uid not in {int(uid) % 2**32 for uid in uids}:
        return {"ok": True, "found": False}
    return _run(["scancel", f"--name={job_name}", str(job_id)], account) | {"found": True}


def _log_tail(request: dict[str, Any], account: pwd.struct_passwd) -> dict[str, Any]:
    path = _log_dir(account) / _log_name(request, str(_job_id(request)))
    # The user may have put anything in its place: a pipe must not stop this program.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path} is not a plain file")
        file.seek(max(0, status.st_size - LOG_BYTES))
        text = file.read(LOG_BYTES).decode("utf-8", "replace")
    return {"ok": True, "text": text}


def _storage_checks(request: dict[str, Any], _: pwd.struct_passwd) -> dict[str, Any]:
    return {"ok": True, "checks": _look(request)}


def _account() -> pwd.struct_passwd:
    # For root, a fault in the hub would be a fault in everything.
    if len(sys.argv) != 1 or os.getuid() == 0:
        raise ValueError("this program takes no argument and does not work for root")
    return pwd.getpwuid(os.getuid())


def _environment(request: dict[str, Any]) -> dict[str, str]:
    environment = request.get("environment")
    if not isinstance(environment, dict):
        raise ValueError("environment must be an object")
    for name, value in environment.items():
        if not _ENVIRONMENT_NAME.fullmatch(name) or _SLURM_NAME.match(name):
            raise ValueError(f"environment variable {name!r:.60} is not allowed")
        if not isinstance(value, str) or "\0" in value:
            raise ValueError(f"environment variable {name} has a bad value")
    return environment


def _text(request: dict[str, Any], key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"{key} must be a text")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"bad name {value!r:.60}")
    return value


def _job_id(request: dict[str, Any]) -> int:
    job_id = request.get("job_id")
    if type(job_id) is not int or not 0 < job_id < 2**32:
        raise ValueError(f"bad job_id {job_id!r:.60}")
    return job_id


def _run(
    argv: list[str],
    account: pwd.struct_passwd,
    *,
    environment: dict[str, str] | None = None,
    text: str = "",
) -> dict[str, Any]:
    # The variables of this user's login, and nothing of the hub's own environment.
    login = {"HOME": account.pw_dir, "USER": account.pw_name, "LOGNAME": account.pw_name}
    login |= {"SHELL": account.pw_shell or "/bin/sh", "PATH": PATH, "LANG": "C.UTF-8"}
    # sudo drops the hub's variables: what is left here was set by root's own files.
    login |= {name: os.environ[name] for name in ("SLURM_CONF",) if name in os.environ}
    paths = (f"{folder}/{argv[0]}" for folder in PATH.split(":"))
    program = next((path for path in paths if os.access(path, os.X_OK)), argv[0])
    try:
        done = subprocess.run(
            [program, *argv[1:]],
            env=login | (environment or {}),
            input=text.encode(),
            # The home folder may be unreachable when a job has to be cancelled.
            cwd="/",
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        error = f"{argv[0]} gave no answer in {TIMEOUT_S} s"
        return {"ok": False, "exit_code": None, "stderr": error}
    out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    return {"ok": not done.returncode, "exit_code": done.returncode, "stdout": out, "stderr": err}


def _log_dir(account: pwd.struct_passwd) -> Path:
    path = Path(account.pw_dir, STATE_FOLDER)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The folder may exist with other permissions.
    path.chmod(0o700)
    path /= LOG_FOLDER
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def _log_name(request: dict[str, Any], job_id: str) -> str:
    # Two clusters with the same home give the same ids.
    cluster = f"{request['cluster']}-" if "cluster" in request else ""
    return f"session-{cluster}{job_id}.log"


def _new_log(account: pwd.struct_passwd, name: str) -> str:  # as a pattern, which % starts
    log_dir = _log_dir(account)
    # Another session of this user may be deleting the same logs at this moment.
    with contextlib.suppress(FileNotFoundError):
        logs = sorted(log_dir.glob("session-*.log"), key=lambda path: path.lstat().st_mtime)
        for path in logs[: max(0, len(logs) - N_LOGS_KEPT + 1)]:
            path.unlink(missing_ok=True)
    return f"{str(log_dir).replace('%', '%%')}/{name}"


if __name__ == "__main__":
    main()
