"""What a session finds on a node; a short job of the user runs this text.

The job's script holds this text, so it stands alone: only Python's own library, for Python 3.9 or
newer. PROBE_QUESTION in the environment is a JSON object, see
`portal.site.checks.test_job.node_probe_input`. The program runs all checks at once, listens on the
given port, and answers whoever sends the secret word; it also prints the answer, for the job's log.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

LISTEN_S = 12.0
LOOK_S = 60.0
MARK = "dsportal-check: "
# How the answer begins if something loaded.
VERSION = "version "
# And if the node lacks the Python of an environment.
NEEDS = "needs "


def main() -> None:
    """Look, answer and print."""
    question = json.loads(os.environ["PROBE_QUESTION"])
    found = {"node": socket.gethostname(), "python": sys.executable}
    looks: dict[str, Callable[[], object]] = {
        "hub": lambda: probe_hub(question["hub_url"], question["hub_authority"]),
        "home": probe_home,
        "templates": lambda: probe_storage(question["templates"], is_mount=False),
    }
    for name, place in question["storage"].items():
        looks[f"storage {name}"] = partial(probe_storage, place["path"], is_mount=place["is_mount"])
    for name, path in question["environments"].items():
        looks[f"environment {name}"] = partial(probe_environment, path, name)
    looks["workplace"] = lambda: probe_workplace(question["workplace"])
    threads = [start_probe(found, name, do) for name, do in looks.items()]
    kernels = start_probe(
        found, "kernels", lambda: probe_kernels(question["environments"]["server"])
    )
    listen(question, found)
    give_up_at = time.monotonic() + LOOK_S
    for thread in [*threads, kernels]:
        thread.join(max(0.0, give_up_at - time.monotonic()))
    print(MARK + json.dumps(found), flush=True)
    # A thread that a file server holds must not keep the job.
    os._exit(0)


def start_probe(found: dict[str, Any], name: str, do: Callable[[], object]) -> threading.Thread:
    """Run `do` in its own thread; its result goes into `found`, under its name."""

    def run() -> None:
        try:
            found[name] = do()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"

    found[name] = f"no answer in {LOOK_S:g} s"
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def probe_hub(url: str, authority: str = "") -> str:
    """Ask the hub's API, as a session does, and return what is wrong; empty if nothing.

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
        return "" if error.code < 500 else f"status {error.code}"
    except OSError as error:
        return str(getattr(error, "reason", error))
    return ""


def probe_home() -> str:
    """Write a small file into the home folder, and return what is wrong; empty if nothing."""
    # Nodes that are tried at the same time share the home, and may give out the same numbers.
    path = Path.home() / f".dsportal-check-{socket.gethostname()}-{os.getpid()}"
    try:
        path.write_text("x")
        path.unlink()
    except OSError as error:
        return f"{Path.home()}: {error.strerror}"
    return ""


def probe_storage(folder: str, *, is_mount: bool) -> str:
    """List the shared storage, and return what is wrong; empty if nothing.

    `is_mount`: it has to be the root of a mount.
    """
    try:
        os.listdir(folder)
    except OSError as error:
        return str(error.strerror)
    return "not mounted" if is_mount and not os.path.ismount(folder) else ""


def probe_workplace(question: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of `workplace_probe`; `question` has its text as "program"."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", question["program"]],
        input=json.dumps(question).encode(),
        capture_output=True,
        timeout=LOOK_S - 5,
        cwd="/",
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# What has to load in an environment, by its name; nothing for those that sessions do not start.
MODULES = {
    "server": "jupyterlab, jupyterhub, portal.server.extension, spawner.node.singleuser",
    "tensorboard": "tensorboard",
}
PRINT_VERSION = "; import spawner; print(spawner.__version__)"


def probe_environment(path: str, name: str) -> str:
    """Load what sessions need of an environment, "server" or "tensorboard".

    Returns:
        What is wrong, or VERSION and that of the portal's package.
    """
    python = os.path.join(path, "bin", "python")
    if wanted := lacking_python(path):
        return wanted
    if not os.access(python, os.X_OK):
        return "missing"
    return imported(python, "import " + MODULES[name] + PRINT_VERSION)


def lacking_python(path: str) -> str:
    """Compare the Python that an environment was made for with what it finds on this node.

    Returns:
        NEEDS and what is missing; empty if nothing, or if there is no environment.
    """
    settings = Path(path, "pyvenv.cfg")
    if not settings.is_file():
        return ""
    pairs = (line.partition("=") for line in settings.read_text().splitlines())
    made_for = {name.strip(): value.strip() for name, _, value in pairs}.get("version", "")
    release = ".".join(made_for.split(".")[:2])
    link = os.path.join(path, "bin", "python")
    program = os.path.realpath(link)
    if os.path.islink(link) and not os.path.exists(link):
        return NEEDS + f"Python {release} at {program}, which is not there"
    said = imported(link, "import platform; print(platform.python_version())")
    found = said[len(VERSION) :] if said.startswith(VERSION) else ""
    if not found or not release or found.split(".")[:2] == release.split("."):
        return ""
    return NEEDS + f"Python {release}, and {program} there is {found}"


def probe_kernels(server: str) -> dict[str, str]:
    """Start Python for each kernel that the server environment describes.

    Returns:
        What is wrong with each, by name; empty if nothing.
    """
    results = {}
    for spec in sorted(Path(server, "share/jupyter/kernels").glob("*/kernel.json")):
        kernel = json.loads(spec.read_text())
        program = kernel["argv"][0]
        environment = os.path.dirname(os.path.dirname(program))
        if kernel.get("language") == "python" and (wanted := lacking_python(environment)):
            results[spec.parent.name] = wanted
        elif not os.access(program, os.X_OK):
            results[spec.parent.name] = f"{program} is missing"
        elif kernel.get("language") == "python":
            said = imported(program, "import ipykernel; print(ipykernel.__version__)")
            results[spec.parent.name] = "" if said.startswith(VERSION) else said
        else:
            results[spec.parent.name] = ""
    return results


def imported(python: str, code: str) -> str:
    """Run a line of Python, and return VERSION with what it printed, or its last error."""
    done = subprocess.run(
        [python, "-I", "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LOOK_S - 5,
        cwd="/",
    )
    if done.returncode == 0:
        return VERSION + done.stdout.decode().strip()
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    return (last or [f"exit status {done.returncode}"])[0][:300]


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
            found["port"] = error.strerror
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
