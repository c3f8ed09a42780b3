"""What a session finds on a node; a short job of the user runs this text.

The job's script holds this text, so it stands alone: only Python's own library, for Python 3.9 or
newer. PROBE_QUESTION in the environment is a JSON object, see
`portal.site.checks.test_job.node_probe_input`. The program looks at everything at once, listens on
the given port, and answers whoever sends the secret word. It prints what it found: each of the
"faults" is a key of `portal.site.checks.node_findings.FAULTS`, a name, and what is wrong with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

LISTEN_S = 12.0
LOOK_S = 60.0
MARK = "dsportal-check: "
MIB = 1024 * 1024
# A session starts with less, min_free_mib of [preflight], but a training soon ends there.
LEAST_FREE_MIB = 1024
# As in portal/server/ssh/sshd.py.
SSHD_FOLDERS = "/usr/sbin:/usr/local/sbin:/sbin"
# What has to load in an environment, by its name.
MODULES = {
    "server": "jupyterlab, jupyterhub, portal.server.extension, spawner.node.singleuser",
    "tensorboard": "tensorboard",
}
PRINT_VERSION = "import {}; import spawner; print(spawner.__version__)"
Faults = Iterator[tuple[str, ...]]


def main() -> None:
    """Look, answer and print."""
    question = json.loads(os.environ["PROBE_QUESTION"])
    server, templates = question["environments"]["server"], question["templates"]
    found: dict[str, Any] = {"node": socket.gethostname(), "free_mib": {}, "n_kernels": 0}
    # What each look finds wrong; until it ends, that it has not.
    looks: dict[tuple[str, ...], Callable[[], Faults]] = {
        ("hub", ""): lambda: probe_hub(question["hub_url"], question["hub_authority"]),
        ("home", ""): probe_home,
        ("templates", templates): lambda: probe_storage("templates", templates, is_mount=False),
        ("kernel", "all"): lambda: probe_kernels(server, found),
        ("workplace", ""): lambda: probe_workplace(question, found),
    }
    for path, is_mount in question["storage"].items():
        looks["storage", path] = partial(probe_storage, "storage", path, is_mount=is_mount)
    for name, path in question["environments"].items():
        looks[name, path] = partial(probe_environment, name, path, question["version"])
    rows = {row: [(*row, f"no answer in {LOOK_S:g} s")] for row in looks}
    threads = [start_look(rows, row, do) for row, do in looks.items()]
    listen(question, found)
    give_up_at = time.monotonic() + LOOK_S
    for thread in threads:
        thread.join(max(0.0, give_up_at - time.monotonic()))
    found["faults"] = [row for some in rows.values() for row in some]
    print(MARK + json.dumps(found), flush=True)
    # A thread that a file server holds must not keep the job.
    os._exit(0)


def start_look(
    rows: dict[tuple[str, ...], list[tuple[str, ...]]],
    row: tuple[str, ...],
    do: Callable[[], Faults],
) -> threading.Thread:
    """Collect what a look finds in a thread of its own; `row` begins the fault of a broken one."""

    def run() -> None:
        try:
            rows[row] = list(do())
        except Exception as error:
            rows[row] = [(*row, f"{type(error).__name__}: {error}")]

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def probe_hub(url: str, authority: str = "") -> Faults:
    """Ask the hub's API, as a session does.

    `authority` is the certificate (PEM) that the hub's has to be signed by, if it uses TLS.
    """
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if authority:
        context = ssl.create_default_context(cadata=authority)
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)
    try:
        opener.open(url, timeout=8).close()
    except urllib.error.HTTPError as error:
        if error.code >= 500:
            yield "hub", "", f"status {error.code}"
    except OSError as error:
        yield "hub", "", str(getattr(error, "reason", error))


def probe_home() -> Faults:
    """Write a small file into the home folder."""
    # Nodes that are tried at the same time share the home, and may give out the same numbers.
    path = Path.home() / f".dsportal-check-{socket.gethostname()}-{os.getpid()}"
    try:
        path.write_text("x")
        path.unlink()
    except OSError as error:
        yield "home", "", f"{Path.home()}: {error.strerror}"


def probe_storage(what: str, folder: str, *, is_mount: bool) -> Faults:
    """List a folder; `is_mount`: it has to be the root of a mount."""
    try:
        os.listdir(folder)
    except OSError as error:
        yield what, folder, str(error.strerror)
        return
    if is_mount and not os.path.ismount(folder):
        yield what, folder, "not mounted"


def probe_environment(name: str, path: str, version: str) -> Faults:
    """Load what sessions need of an environment, "server" or "tensorboard".

    `version` is that of the hub.
    """
    python = os.path.join(path, "bin", "python")
    if wanted := lacking_python(path):
        yield f"{name} python", path, wanted
        return
    if not os.access(python, os.X_OK):
        yield name, path, "missing"
        return
    has_loaded, said = imported(python, PRINT_VERSION.format(MODULES[name]))
    if not has_loaded:
        yield name, path, said
    elif said != version:
        yield "version", path, said


def lacking_python(path: str) -> str:
    """Return the Python that an environment was made for, if it finds another one on this node."""
    settings = Path(path, "pyvenv.cfg")
    if not settings.is_file():
        return ""
    pairs = (line.partition("=") for line in settings.read_text().splitlines())
    made_for = {name.strip(): value.strip() for name, _, value in pairs}.get("version", "")
    release = ".".join(made_for.split(".")[:2])
    link = os.path.join(path, "bin", "python")
    program = os.path.realpath(link)
    if os.path.islink(link) and not os.path.exists(link):
        return f"Python {release} at {program}, which is not there"
    has_loaded, found = imported(link, "import platform; print(platform.python_version())")
    if not has_loaded or not release or found.split(".")[:2] == release.split("."):
        return ""
    return f"Python {release}, and {program} there is {found}"


def probe_kernels(server: str, found: dict[str, Any]) -> Faults:
    """Start Python for each kernel of the server environment, and count them in `found`."""
    for spec in sorted(Path(server, "share/jupyter/kernels").glob("*/kernel.json")):
        found["n_kernels"] += 1
        kernel, name = json.loads(spec.read_text()), spec.parent.name
        program = kernel["argv"][0]
        is_python = kernel.get("language") == "python"
        environment = os.path.dirname(os.path.dirname(program))
        if is_python and (wanted := lacking_python(environment)):
            yield "kernel python", name, wanted
        elif not os.access(program, os.X_OK):
            yield "kernel", name, f"{program} is missing"
        elif is_python:
            has_loaded, said = imported(program, "import ipykernel; print(1)")
            if not has_loaded:
                yield "kernel", name, said


def imported(python: str, code: str) -> tuple[bool, str]:
    """Run a line of Python.

    Returns:
        Whether it ran, and what it printed or its last error.
    """
    done = subprocess.run(
        [python, "-I", "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LOOK_S - 5,
        cwd="/",
    )
    if done.returncode == 0:
        return True, done.stdout.decode().strip()
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    return False, (last or [f"exit status {done.returncode}"])[0][:300]


def probe_workplace(question: dict[str, Any], found: dict[str, Any]) -> Faults:
    """Look for what sessions work with besides: sshd, space, and no door for neighbours.

    `question` is the whole one, and `found` gets the space.
    """
    server = Path(question["environments"]["server"])
    for package in server.glob("lib/python3*/site-packages/jupyter_server_mcp"):
        yield "mcp", str(package)
    if question["needs_sshd"] and not shutil.which("sshd", path=SSHD_FOLDERS):
        yield ("sshd",)
    for folder in (str(Path.home()), *question["storage"]):
        with contextlib.suppress(OSError):
            disk = os.statvfs(folder)
            # Not f_bfree, which contains what only root may fill.
            free_mib = found["free_mib"][folder] = disk.f_bavail * disk.f_frsize // MIB
            if free_mib < LEAST_FREE_MIB:
                yield "space", folder, f"{free_mib} MiB free, less than {LEAST_FREE_MIB}"


def listen(question: dict[str, Any], found: dict[str, Any]) -> None:
    """Listen on a port as a session does, and send the hub this node's time.

    `question` has "port" and "secret"; `found` gets "reached", whether the hub came.
    """
    found["reached"] = False
    family = socket.AF_INET6 if ":" in question["hub_address"] else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            # On all addresses: the hub connects to Slurm's NodeAddr, which is not known here.
            server.bind(("", question["port"]))
        except OSError as error:
            found["port"] = str(error.strerror)
            return
        server.listen(8)
        give_up_at = time.monotonic() + LISTEN_S
        while not found["reached"] and time.monotonic() < give_up_at:
            server.settimeout(max(0.1, give_up_at - time.monotonic()))
            try:
                connection = server.accept()[0]
                with connection:
                    connection.settimeout(2)
                    said = connection.recv(256).decode("utf-8", "replace").strip()
                    if said == question["secret"]:
                        connection.sendall(json.dumps({"time": time.time()}).encode() + b"\n")
                        found["reached"] = True
            except OSError:
                continue


if __name__ == "__main__":
    main()
