"""Slurm's commands for a large site: they print prepared lists and take as long as Slurm's own.

Each takes `START_S` and what it costs to print its list.
"""

from pathlib import Path

# Seconds before the first line.
START_S = 0.03
# Where a command prints from, and the shell words that say so. Fields of a prepared line have "|"
# between them, and the mark that was asked for takes its place.
_PROGRAM = """\
#!/bin/sh
name=${0##*/}
folder=@FOLDER@
sleep @START_S@
case "$name $*" in
    *--Format=JobID*) mark=${*#*--Format=JobID:0}; mark=${mark%%,*} ;;
    *--format=*) mark=${*#*--format=}; mark=${mark%%|*} ;;
    *--delimiter=*) mark=${*#*--delimiter=}; mark=${mark%% *} ;;
esac
case "$name $*" in
    "squeue "*StateCompact*) exec sed "s/|/$mark/g" $folder/cluster ;;
    "squeue "*--jobs=*)
        ids=${*#*--jobs=}
        exec awk -F "|" -v "ids=${ids%% *}" -v "OFS=$mark" '
            BEGIN { n = split(ids, list, ","); for (i = 1; i <= n; i++) asked[list[i]] }
            $1 in asked { $1 = $1; print }
        ' $folder/sessions ;;
    "squeue "*--Format=JobID*) exec sed "s/|/$mark/g" $folder/others $folder/sessions ;;
    "squeue "*--states=PENDING*) exec sed "s/^/$mark|/" $folder/queue ;;
    "squeue "*--Format=UserName*) exec cat $folder/gpus ;;
    "sinfo --all"*) exec cat $folder/nodes ;;
    "sacct "*AllocTRES*) exec sed "s/|/$mark/g" $folder/ended ;;
    "sacctmgr "*user*) exec cat $folder/users ;;
esac
"""

_AS_USER = """\
#!/bin/sh
FOR_USER=$1
export FOR_USER
shift
exec "$@"
"""

# Takes a job, shows it as running at once, and reports the port of the one server of all sessions.
_LAUNCHER = """\
#!/usr/bin/python3 -IS
import json, os, sys, time
request = json.loads(sys.stdin.read())
if request["verb"] != "submit":
    print(json.dumps({"ok": True, "checks": {}, "exit_code": 0, "stderr": "sbatch: Job 1 to start "
        "at 2027-01-01T12:00:00 using 8 processors on nodes n00001 in partition gpu"}))
    sys.exit()
words = dict(word[2:].split("=", 1) for word in request["arguments"] if "=" in word)
# Launchers start side by side, so no clock tells them apart.
job_id = str(500_000_000 + int.from_bytes(os.urandom(8), "big") % 400_000_000)
fields = (job_id, os.environ["FOR_USER"], "RUNNING", "n00001", "2026-01-01T00:00:00",
    "2046-01-01T00:00:00", "7:00:00", "0", words["job-name"], words["comment"], "None")
with open("@FOLDER@/sessions", "a") as file:
    file.write("|".join(fields) + "\\n")
print(json.dumps({"ok": True, "job_id": int(job_id)}), flush=True)
os.close(1)
os.close(2)
if os.fork():
    os._exit(0)
time.sleep(@SERVER_START_S@)
import http.client
told = request["environment"]
host = told["JUPYTERHUB_API_URL"].split("/")[2]
headers = {"Authorization": "token " + told["JUPYTERHUB_API_TOKEN"]}
# Until a hub answers, as the portal's own server does.
for _ in range(120):
    try:
        hub = http.client.HTTPConnection(host, timeout=60)
        hub.request("POST", "/hub/api/dsportal/port", json.dumps({"port": @PORT@}), headers)
        if hub.getresponse().status < 500:
            break
    except OSError:
        pass
    time.sleep(0.5)
"""
SERVER_START_S = 2.0
_COMMANDS = ("sinfo", "squeue", "scontrol", "sacct", "sacctmgr")


def write_commands(folder: Path, *, n_nodes: int, n_jobs: int, n_sessions: int, port: int) -> None:
    """Write the commands into the folder's `bin`, and what they print beside it.

    Args:
        n_jobs: Jobs of others: four of five wait.
        n_sessions: Users with a session; `folder / "sessions"` is for the caller to write.
        port: Of the one server of all sessions that start.
    """
    lists = {
        "nodes": map(_node, range(n_nodes)),
        "others": (
            f"{n}|u{n % 900}|PENDING||N/A|N/A|INVALID|0|train|(null)|Priority" for n in _ids(n_jobs)
        ),
        "cluster": (
            f"{n}|u{n % 900}|{'PD' if n % 5 else 'R'}|gpu|1|N/A|1:00:00|cpu=8,mem=48G,node=1,"
            "billing=8,gres/gpu=1|Priority|train"
            for n in _ids(n_jobs)
        ),
        "queue": (f"{n}|{n % 5000 + 1}|gpu|Priority|train" for n in _ids(n_jobs)),
        "gpus": (f"u{n % 900} research normal cpu=8,gres/gpu=1" for n in range(n_jobs // 5)),
        "users": (f"user{n:04}|research|research||normal||||" for n in range(1, n_sessions + 1)),
        "ended": (
            f"{n}|2026-11-27T09:00:00|2026-11-27T17:00:00|gres/gpu=1|COMPLETED||dsportal-0"
            for n in range(20)
        ),
    }
    for name, lines in lists.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    bin_dir = folder / "bin"
    bin_dir.mkdir()
    values = {"FOLDER": folder, "START_S": START_S, "SERVER_START_S": SERVER_START_S, "PORT": port}
    for name, text in {"slurm": _PROGRAM, "as-user": _AS_USER, "launcher": _LAUNCHER}.items():
        for word, value in values.items():
            text = text.replace(f"@{word}@", str(value))
        (bin_dir / name).write_text(text)
        (bin_dir / name).chmod(0o755)
    for name in _COMMANDS:
        (bin_dir / name).symlink_to(bin_dir / "slurm")


def _ids(n_jobs: int) -> range:
    # Behind those of sessions.
    return range(1_000_000, 1_000_000 + n_jobs)


def _node(number: int) -> str:
    n_used = number % 5
    return (
        f"gpu|gpu*|up|1-00:00:00|UNLIMITED|n{number:05}|127.0.0.1|mixed|"
        f"{8 * n_used}/{40 - 8 * n_used}/0/40|384000|{49152 * n_used}|gpu:v100:4(S:0-1)|"
        f"gpu:v100:{n_used}(IDX:0-3)|"
    )
