"""The server of one session: started as its job starts it, asked for a first page, and weighed."""

import os
import pwd
import queue
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.lab.benchmarks.session.stand_in_hub import PREFIX, TOKEN, USER, StandInHub
from tests.lab.benchmarks.session.tools import ENVIRONMENTS, asked_of, settings_of
from tests.support.eventually import eventually
from tests.support.notebook_server import descendants

PROGRAM = f"{ENVIRONMENTS}/server/bin/dsportal-singleuser"
TIMEOUT_S = 120
# What JupyterLab asks for before it shows the launcher.
FIRST_PAGE = (
    *("lab", "lab/api/settings", "lab/api/translations/default", "lab/api/workspaces/default"),
    *("api/contents", "api/kernelspecs", "api/kernels", "api/sessions", "api/terminals"),
    *("portal/api/templates", "portal/api/environments"),
)
# What a page has asked for last may still be at work, such as a process that is to stand by.
SETTLED_S, SETTLED_SHARE = 1.0, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the processes of a session hold, MiB.

    Attributes:
        rss: Of the server alone, pages that others have too counted in full.
        pss: Of the server and all that it has started, pages that several have divided among them.
    """

    rss: float
    pss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start.

    Attributes:
        start_s: From the execution of the program to the first answer of api/status, seconds.
        cpu_s: What the server and its children computed until then, seconds of one core.
    """

    start_s: float
    cpu_s: float
    started: Memory
    shown: Memory


class ServerError(Exception):
    """The server did not start; the message has the end of its log."""


def measure_start(hub: StandInHub, variant: str) -> Start:
    """Start a server, ask for the first page and end it."""
    folder = Path(tempfile.mkdtemp(prefix="dsp-bench-"))
    try:
        return _measure(hub, variant, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(hub: StandInHub, variant: str, folder: Path) -> Start:
    account = pwd.getpwnam(USER)
    for name in ("", "home", "tmp"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
        os.chown(folder / name, account.pw_uid, account.pw_gid)
    http = requests.Session()
    http.headers["Authorization"] = f"token {TOKEN}"
    log_path = folder / "session.log"
    with log_path.open("wb") as log:
        before = time.monotonic()
        process = subprocess.Popen(
            [PROGRAM],
            env=_environment(hub, variant, folder),
            stdout=log,
            stderr=log,
            cwd=folder / "home",
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
        )
    try:
        port = hub.ports.get(timeout=TIMEOUT_S)
        root = f"http://127.0.0.1:{port}{PREFIX}"
        # The socket listens already: the answer comes once the server runs.
        http.get(f"{root}api/status", timeout=TIMEOUT_S).raise_for_status()
        start_s = time.monotonic() - before
        cpu_s = _work_s(process.pid)
        # A process that looks around for the session may just be at work, and ends soon.
        wait_until_settled(process.pid)
        started = weigh(process.pid)
        for path in (*FIRST_PAGE, *asked_of(variant)):
            http.get(f"{root}{path}", timeout=TIMEOUT_S).raise_for_status()
        wait_until_settled(process.pid)
        shown = weigh(process.pid)
        return Start(start_s=start_s, cpu_s=cpu_s, started=started, shown=shown)
    except (requests.RequestException, AssertionError, queue.Empty) as error:
        raise ServerError(f"{error!r}\n{log_path.read_text()[-4000:]}") from error
    finally:
        process.terminate()
        process.wait(timeout=TIMEOUT_S)
        http.close()


def _environment(hub: StandInHub, variant: str, folder: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "USER": USER,
        "LANG": "C.UTF-8",
        "SLURM_TMPDIR": str(folder / "tmp"),
        "TMPDIR": str(folder / "tmp"),
        "JUPYTERHUB_API_TOKEN": TOKEN,
        "JPY_API_TOKEN": TOKEN,
        "JUPYTERHUB_API_URL": hub.api,
        "JUPYTERHUB_ACTIVITY_URL": f"{hub.api}/users/{USER}/activity",
        "JUPYTERHUB_BASE_URL": "/",
        "JUPYTERHUB_CLIENT_ID": f"jupyterhub-user-{USER}",
        "JUPYTERHUB_HOST": "",
        "JUPYTERHUB_OAUTH_CALLBACK_URL": f"{PREFIX}oauth_callback",
        "JUPYTERHUB_OAUTH_ACCESS_SCOPES": f'["access:servers!server={USER}/"]',
        "JUPYTERHUB_OAUTH_SCOPES": f'["access:servers!server={USER}/"]',
        "JUPYTERHUB_SERVER_NAME": "",
        "JUPYTERHUB_SERVICE_PREFIX": PREFIX,
        "JUPYTERHUB_SERVICE_URL": f"http://127.0.0.1:0{PREFIX}",
        "JUPYTERHUB_USER": USER,
        "PORTAL_SETTINGS": settings_of(variant),
        "PORTAL_GPUS_SIMULATED": "1",
        "PORTAL_N_GPUS": "1",
        "PORTAL_WALLTIME_S": "28800",
        "JUPYTER_SERVER_ALLOW_UNAUTHENTICATED_ACCESS": "false",
    }


def weigh(pid: int) -> Memory:
    """Return what a server and its children hold."""
    # A child may end between two looks.
    texts = [_rollup(each) for each in (pid, *descendants(pid))]
    return Memory(rss=_mib(texts[0], "Rss"), pss=round(sum(_mib(text, "Pss") for text in texts), 1))


def _rollup(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return ""


def _mib(rollup: str, key: str) -> float:
    """Read a size.

    Args:
        rollup: Text of smaps_rollup, see proc_pid_smaps(5).
    """
    sizes = [line.split()[1] for line in rollup.splitlines() if line.startswith(f"{key}:")]
    return round(sum(map(int, sizes)) / 1024, 1)


def wait_until_settled(pid: int) -> None:
    """Return when a server and its children do next to nothing."""

    def is_settled() -> bool:
        before, began_s = _work_s(pid), time.monotonic()
        time.sleep(SETTLED_S)
        return _work_s(pid) - before < SETTLED_SHARE * (time.monotonic() - began_s)

    eventually(is_settled, timeout_s=TIMEOUT_S)


def _work_s(pid: int) -> float:
    ticks = 0
    for each in (pid, *descendants(pid)):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # Of the process, and of its children that have ended.
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
