"""The verbs: each prints its answer, as words or as JSON."""

from __future__ import annotations

import argparse
import getpass
import io
import json
import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dsportal.amounts import format_time_left

from . import openssh, sweeps, work
from .completion import completion as complete
from .host import Host, LaptopError, home_of, parse_url
from .job_options import order_of
from .sessions import Session, list_sessions, said
from .setup import check_websocket, known_portal, log_in, set_up

# Of the form for a new session, by their keys.
START_OPTIONS = {
    "gpus": "number of GPUs",
    "hours": "length",
    "cluster": "cluster, where the site has several",
    "gpu_type": "type of GPU",
    "partition": "Slurm partition",
    "account": "Slurm account",
    "qos": "Slurm quality of service",
    "reservation": "Slurm reservation",
    "opens": "what it opens with, such as 'VS Code'",
}
# What `start --open` opens, and the option of the form that makes its page the first.
OPENED = {"lab": None, "vscode": "VS Code", "ssh": None}
# Text browsers, which Python would start elsewhere, take the terminal.
_HAS_SCREEN = sys.platform in {"darwin", "win32"} or any(
    os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
)


def answer(arguments: argparse.Namespace, value: object, words: str) -> None:
    """Print the JSON `value` or the words."""
    print(json.dumps(value) if arguments.is_json else words, flush=True)


def browse(url: str) -> None:
    """Show a page in a browser, where there is a screen."""
    if _HAS_SCREEN:
        webbrowser.open(url)


def login(arguments: argparse.Namespace) -> None:
    """Keep a token."""
    host, token = _host(arguments)
    # Of a host that is set up for ssh, which may find a keyring locked, only if that is wanted.
    is_for_ssh = (home_of(host.name) / "key").exists()
    in_keyring = arguments.keep == "keyring" or (arguments.keep is None and not is_for_ssh)
    host, user = log_in(host, token, in_keyring=in_keyring)
    if arguments.keep == "keyring" and not host.is_in_keyring:
        raise LaptopError(
            "Python's keyring keeps no token here. It is in a file that is yours alone."
        )
    place = "the keyring" if host.is_in_keyring else str(home_of(host.name) / "token")
    told = {"user": user, "token": place}
    answer(arguments, told, f"You are {user} at {host.url}. Your token is in {place}.")


def setup(arguments: argparse.Namespace) -> None:
    """Keep a token, and add a host to ssh."""
    host, token = _host(arguments)
    text = set_up(host, token, is_printed=arguments.is_printed)
    answer(arguments, {"host": host.name, "message": text}, text)


def _host(arguments: argparse.Namespace) -> tuple[Host, str]:
    """Return the host that `setup` and `login` are to keep, and the token that the user gives."""
    # Refuses the name before a token is typed.
    home_of(arguments.name)
    ca_file = str(Path(arguments.ca_file).resolve()) if arguments.ca_file else ""
    host = Host(arguments.name, parse_url(arguments.url), arguments.session or "", ca_file)
    if sys.stdin.isatty():
        page = host.address("hub/token?for=sessions")
        browse(page)
        token = getpass.getpass(f"Token, made on {page}: ")
    else:
        token = sys.stdin.readline()
    return host, token.strip()


def start(arguments: argparse.Namespace) -> int:
    """Start a session, and show why it waits."""
    session = _session(arguments)
    given = {key: getattr(arguments, key) for key in START_OPTIONS}
    given["opens"] = given["opens"] or OPENED.get(arguments.opened)
    if arguments.opened == "ssh":
        # Before the wait, not after it.
        openssh.require_key(arguments.name)
    session.start({key: value for key, value in given.items() if value is not None})
    shown = set()

    def show(event: dict[str, Any]) -> None:
        line = said(event)
        # The hub tells all of it again after a lost connection.
        if line not in shown:
            shown.add(line)
            print(line, file=sys.stderr, flush=True)

    try:
        url = session.wait(show)
    except KeyboardInterrupt:
        print(
            "\nYour session still waits. Its reason: dsportal why. To give it up: dsportal stop",
            file=sys.stderr,
        )
        raise
    answer(arguments, {"name": session.name, "url": url}, url)
    if arguments.opened == "ssh":
        return openssh.run_ssh(arguments.name, ())
    if arguments.opened:
        browse(url)
    return 0


def list_all(arguments: argparse.Namespace) -> None:
    """List the sessions."""
    sessions = list_sessions(arguments.portal(arguments))
    lines = (
        " ".join(
            [
                one["name"] or "(no name)",
                one["state"],
                *(f"{key}={value}" for key, value in one["options"].items()),
                one["url"],
            ]
        )
        for one in sessions
    )
    answer(arguments, sessions, "\n".join(lines) or "No session of yours runs or waits.")


def why(arguments: argparse.Namespace) -> None:
    """Say why a session waits."""
    event = _session(arguments).why()
    answer(arguments, event, said(event))


def open_page(arguments: argparse.Namespace) -> None:
    """Show a session in a browser."""
    session = _session(arguments)
    url = session.address()
    answer(arguments, {"name": session.name, "url": url}, url)
    if not (arguments.is_printed or arguments.is_json):
        browse(url)


def extend(arguments: argparse.Namespace) -> None:
    """Give a session more time."""
    told = _session(arguments).extend()
    answer(arguments, told, describe_end(told))


def describe_end(told: dict[str, Any]) -> str:
    """Return how long a session lasts still; `told` is what hub or session say of its time."""
    left_s = told["left_s"]
    return (
        "Your session has no limit." if left_s is None else f"{format_time_left(left_s)} are left."
    )


def stop(arguments: argparse.Namespace) -> None:
    """Stop a session."""
    session = _session(arguments)
    session.stop()
    answer(arguments, {"name": session.name, "state": "stopped"}, "Your session has stopped.")


def jobs(arguments: argparse.Namespace) -> None:
    """List jobs and runs."""
    show_jobs(arguments, work.RemoteWork(_session(arguments)))


def show_jobs(arguments: argparse.Namespace, source: work.Work) -> None:
    """List jobs and runs, here and in sessions."""
    told = source.list_work()
    answer(arguments, told, work.describe_work(told))


def logs(arguments: argparse.Namespace) -> None:
    """Show the output of a job or a run."""
    show_logs(arguments, work.RemoteWork(_session(arguments)))


def show_logs(arguments: argparse.Namespace, source: work.Work) -> None:
    """Show the output of a job or a run, here and in sessions."""
    pieces: list[str] = []

    def show(text: str) -> None:
        pieces.append(text)
        if not arguments.is_json:
            print(text, end="", flush=True)

    piece = work.follow(source, arguments.job, show, to_its_end=arguments.is_followed)
    if arguments.is_json:
        print(json.dumps({**piece, "text": "".join(pieces)}))


def new_job(arguments: argparse.Namespace) -> None:
    """Run a notebook or a script as a job."""
    order = order_of(arguments)
    if wrong := [text for text in arguments.parameters if "=" not in text]:
        raise LaptopError(f"{wrong[0]!r} is no parameter. Write -p lr=0.1")
    if arguments.parameters:
        order["parameters"] = dict(text.split("=", 1) for text in arguments.parameters)
    session = _session(arguments)
    told = work.submit_job(session, arguments.file, is_forecast=arguments.forecast, **order)
    answer(arguments, told, told["message"])


def sweep(arguments: argparse.Namespace) -> None:
    """Start, show or stop a sweep."""
    session = _session(arguments)
    if arguments.action == "show":
        sweeps.follow(arguments, lambda: sweeps.ask(session, arguments))
    else:
        told = sweeps.ask(session, arguments)
        answer(arguments, told, told["message"])


def gpu(arguments: argparse.Namespace, own: str = "") -> None:
    """Show or change the GPUs of a kernel; for `own` see `work.kernel_gpus`."""
    session, notebook = _session(arguments), arguments.notebook
    if arguments.gpus is None:
        told = work.kernel_gpus(session, notebook, own)
    else:
        told = [work.ask_for_gpus(session, arguments.gpus, arguments.hours, notebook, own)]
    show_gpus(arguments, told)


def show_gpus(arguments: argparse.Namespace, told: Sequence[dict[str, Any]]) -> None:
    """Print what kernels have and wait for: `told` as `work.kernel_gpus` returns it."""
    lines = (
        f"{one['notebook']}: {one['words']}"
        + (f", waits for {one['asked']}" if one["asked"] else "")
        + (f". {one['reason']}" if one["reason"] else "")
        for one in told
    )
    answer(arguments, told, "\n".join(lines))


def ssh(arguments: argparse.Namespace) -> int:
    """Run a command in a session."""
    return openssh.run_ssh(arguments.name, arguments.words)


def copy(arguments: argparse.Namespace) -> int:
    """Copy files."""
    return openssh.copy(arguments.name, arguments.paths)


def mcp(arguments: argparse.Namespace) -> None:
    """Let agents of this machine use sessions and jobs."""
    check_websocket()
    from .mcp.server import Server
    from .mcp.tools import Toolbox

    box = Toolbox(known_portal(arguments.name))
    tools = [tool for tool in box.tools() if not tool.changes or tool.name in arguments.allowed]
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline="\n")

    def write(line: str) -> None:
        print(line, end="", flush=True)

    try:
        Server(tools, write).run(sys.stdin)
    finally:
        box.cells.close()


def completion(arguments: argparse.Namespace) -> None:
    """Print what completes words."""
    print(complete(arguments.parser), end="")


def proxy(arguments: argparse.Namespace) -> None:
    """Carry what ssh says."""
    check_websocket()
    from .ssh import run_proxy

    run_proxy(known_portal(arguments.name))


def _session(arguments: argparse.Namespace) -> Session:
    portal = arguments.portal(arguments)
    # In a session some verbs are about it alone.
    if getattr(arguments, "session", None) is not None:
        portal = replace(portal, host=replace(portal.host, session=arguments.session))
    return Session(portal)
