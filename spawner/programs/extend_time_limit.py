#!/usr/bin/python3 -IS
# -I -S: neither variables nor installed packages decide what it imports.
"""The one program that sudo lets the hub run as Slurm's own account: it extends a session's job.

Only Slurm's operators may extend a time limit. So that the hub need not be one, it asks this
program, which can do nothing else, and only to a running job that carries the portal's marks:

    {"job_id": 42, "user_id": 20001, "job_name": "dsportal-...", "comment": "...", "minutes": 540}

"minutes" is the whole time limit, from the start of the job; a "cluster" may be named, as to the
launcher. The program is self-contained: only Python's standard library, no argument, one JSON
object on standard input, one on standard output: {"ok": true, "found": ...}, or {"ok": false,
"exit_code": ..., "stderr": "..."}.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
# Of the launcher, too.
CLUSTERS = Path("/etc/data-scientist-portal/clusters.env")
# Less than the hub waits for this program, so that the hub hears what was the matter.
TIMEOUT_S = 15
# Id, uid, state, time limit, name and comment of a job.
SQUEUE_FIELDS = "%A|%U|%T|%l|%j|%k"
# Against nonsense only: the hub applies the rules of the site.
MOST_MINUTES = 60 * 24 * 366

# Only sessions have such names and comments, so no other job of a user can be extended.
_JOB_NAME = re.compile(r"dsportal-[0-9a-f]{16}", re.ASCII)
_CLUSTER = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_COMMENT = re.compile(r"data-scientist-portal hub=[0-9a-f]{12}", re.ASCII)
_TIME = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", re.ASCII)


@dataclass(frozen=True)
class ExtensionRequest:
    """The hub's request: a job by all its marks, and its new time limit."""

    job_id: int
    user_id: int
    job_name: str
    comment: str
    minutes: int
    cluster: str = ""


def main() -> None:
    """Answer the one request on standard input."""
    try:
        answer = extend(read_request(sys.stdin.buffer.read(64 * 1024)))
    except (OSError, ValueError) as error:
        # Not this program's name: by this prefix the hub knows that the program itself refused.
        answer = {"ok": False, "exit_code": 2, "stderr": f"dsportal-launcher: {error}"}
    sys.stdout.write(json.dumps(answer) + "\n")


def read_request(data: bytes) -> ExtensionRequest:
    """Parse a request and check each value.

    Args:
        data: A JSON object with the fields of `ExtensionRequest`, and "verb", which is "extend".

    Raises:
        ValueError: If it is anything else.
    """
    request = json.loads(data)
    if not isinstance(request, dict) or request.pop("verb", None) != "extend":
        raise ValueError("not a request to extend")
    numbers = {"job_id": 2**32, "user_id": 2**32, "minutes": MOST_MINUTES}
    texts = {"job_name": _JOB_NAME, "comment": _COMMENT}
    texts |= {"cluster": _CLUSTER} if "cluster" in request else {}
    if set(request) != {*numbers, *texts}:
        raise ValueError("a request has the keys job_id, user_id, minutes, job_name and comment")
    for name, limit in numbers.items():
        if type(request[name]) is not int or not 0 < request[name] < limit:
            raise ValueError(f"bad {name} {request[name]!r:.60}")
    for name, form in texts.items():
        if not isinstance(request[name], str) or not form.fullmatch(request[name]):
            raise ValueError(f"bad {name} {request[name]!r:.60}")
    return ExtensionRequest(**request)


def extend(request: ExtensionRequest) -> dict[str, Any]:
    """Extend the time limit of a job, if all its marks match.

    Returns:
        The answer as a JSON object. "found" is false if no running job has all the marks, for
        example because its id was given to another job.

    Raises:
        ValueError: If the new limit would not be longer.
    """
    if request.cluster:
        os.environ["SLURM_CONF"] = _slurm_conf(request.cluster)
    # Names and comments can hold line breaks, but nobody can forge a line without the nonce.
    nonce = secrets.token_hex(8)
    options = [
        "--noheader",
        "--all",
        f"--jobs={request.job_id}",
        f"--format={nonce}|{SQUEUE_FIELDS}",
    ]
    seen = _run(["squeue", *options])
    if not seen["ok"]:
        is_gone = "Invalid job id" in seen["stderr"]
        return {"ok": True, "found": False} if is_gone else seen
    wanted = (request.job_id, request.user_id, "RUNNING", request.job_name, request.comment)
    for line in seen["stdout"].split("\n"):
        line_nonce, *fields = line.split("|", 6)
        if line_nonce != nonce or len(fields) != 6:
            continue
        job_id, uid, state, limit, job_name, comment = fields
        # Slurm 22.05 prints a uid from 2 ** 31 on as a negative number.
        if (int(job_id), int(uid) % 2**32, state, job_name, comment) == wanted:
            if _seconds(limit) >= request.minutes * 60:
                # scontrol would shorten the limit without a word.
                raise ValueError(f"the limit is {limit} already")
            limit = f"TimeLimit={request.minutes}"
            return _run(["scontrol", "update", f"JobId={request.job_id}", limit]) | {"found": True}
    return {"ok": True, "found": False}


def _slurm_conf(cluster: str) -> str:
    # As the launcher finds it: the hub gives a name, root the path.
    text = CLUSTERS.read_text() if CLUSTERS.exists() else ""
    known = re.findall(r"^(.+?)=(/.+)$", text, re.MULTILINE)
    if cluster not in dict(known):
        raise ValueError(f"{CLUSTERS} has no line {cluster}=/path/of/its/slurm.conf")
    return str(dict(known)[cluster])


def _seconds(limit: str) -> int:
    match = _TIME.fullmatch(limit)
    if match is None:
        raise ValueError(f"the job has the limit {limit!r:.20}")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _run(argv: list[str]) -> dict[str, Any]:
    # sudo drops the hub's variables: what is left here was set by root's own files.
    site = {name: os.environ[name] for name in ("SLURM_CONF",) if name in os.environ}
    try:
        done = subprocess.run(
            argv,
            env={"PATH": PATH, "LC_ALL": "C"} | site,
            stdin=subprocess.DEVNULL,
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


if __name__ == "__main__":
    main()
