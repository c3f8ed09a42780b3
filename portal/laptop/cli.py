"""The command: setup and login, the verbs of sessions, and proxy, which ssh runs."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import os
import re
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from websocket import WebSocket, WebSocketException

from .host import DEFAULT_NAME, Host, LaptopError, home_of, parse_url, write_private
from .rest import Portal
from .sessions import Session, list_sessions, said
from .setup import known_portal, log_in, set_up
from .web_socket import connect, end

_CHUNK_BYTES = 64 * 1024


def carry(portal: Portal, read: Callable[[], bytes], write: Callable[[bytes], object]) -> None:
    """Carry the bytes of one connection between ssh and the session, until one of them ends.

    `read` returns ssh's next bytes, and `write` takes what ssh is to get; both may block.
    """
    host = portal.host
    home = home_of(host.name)
    parts = (quote(part, safe="") for part in (portal.me()["name"], host.session) if part)
    way = connect(host, f"user/{'/'.join(parts)}/portal/ssh", portal.token)
    try:
        key = (home / "key.pub").read_text(encoding="ascii").strip()
        way.send(json.dumps({"public_key": key}))
        said = json.loads(way.recv() or '{"message": "The session closed at once."}')
        if "message" in said:
            raise LaptopError(said["message"])
        # ssh reads it only when it has heard of sshd, which comes after this.
        write_private(home / "known_hosts", f"{host.name} {said['host_key']}\n")
        # A daemon: nothing interrupts its reading.
        threading.Thread(target=_feed, args=(way, read), daemon=True).start()
        with contextlib.suppress(OSError, WebSocketException):
            while isinstance(data := way.recv(), bytes):
                write(data)
    finally:
        end(way)


def _feed(way: WebSocket, read: Callable[[], bytes]) -> None:
    try:
        with contextlib.suppress(OSError, WebSocketException):
            while data := read():
                way.send_binary(data)
    finally:
        # Wakes the other thread.
        end(way)


def _proxy(arguments: argparse.Namespace) -> None:
    portal = known_portal(arguments.name)
    try:
        carry(portal, lambda: os.read(0, _CHUNK_BYTES), _write_all)
    except FileNotFoundError as error:
        raise LaptopError(f"{error.filename} is missing. Run: dsportal-ssh.pyz setup") from error
    except (OSError, ValueError, WebSocketException) as error:
        raise LaptopError(f"The portal cannot be reached: {error}") from error


def _write_all(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _host(arguments: argparse.Namespace) -> tuple[Host, str]:
    """Return the host that `setup` and `login` are to keep, and the token that the user gives."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", arguments.name):
        raise LaptopError(f"{arguments.name!r} cannot be a host's name: take letters and digits.")
    ca_file = str(Path(arguments.ca_file).resolve()) if arguments.ca_file else ""
    host = Host(arguments.name, parse_url(arguments.url), arguments.session or "", ca_file)
    if sys.stdin.isatty():
        token = getpass.getpass(f"Token, made on {host.address('hub/token')}: ")
    else:
        token = sys.stdin.readline()
    return host, token.strip()


def _setup(arguments: argparse.Namespace) -> None:
    print(set_up(*_host(arguments), is_printed=arguments.is_printed))


def _login(arguments: argparse.Namespace) -> None:
    host, token = _host(arguments)
    _answer(arguments, {"user": (user := log_in(host, token))}, f"You are {user} at {host.url}.")


def _start(arguments: argparse.Namespace) -> None:
    session = _session(arguments)
    given = {key: getattr(arguments, key) for key in ("gpus", "hours", "gpu_type")}
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
            "\nYour session still waits. Its reason: dsportal-ssh.pyz why. "
            "To give it up: dsportal-ssh.pyz stop",
            file=sys.stderr,
        )
        raise
    _answer(arguments, {"name": session.name, "url": url}, url)
    if arguments.is_opened:
        webbrowser.open(url)


def _list(arguments: argparse.Namespace) -> None:
    sessions = list_sessions(known_portal(arguments.name))
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
    _answer(arguments, sessions, "\n".join(lines) or "No session of yours runs or waits.")


def _why(arguments: argparse.Namespace) -> None:
    event = _session(arguments).why()
    _answer(arguments, event, said(event))


def _stop(arguments: argparse.Namespace) -> None:
    session = _session(arguments)
    session.stop()
    _answer(arguments, {"name": session.name, "state": "stopped"}, "Your session has stopped.")


def _open(arguments: argparse.Namespace) -> None:
    session = _session(arguments)
    url = session.address()
    _answer(arguments, {"name": session.name, "url": url}, url)
    if not (arguments.is_printed or arguments.is_json):
        webbrowser.open(url)


def _session(arguments: argparse.Namespace) -> Session:
    portal = known_portal(arguments.name)
    if arguments.session is not None:
        portal = replace(portal, host=replace(portal.host, session=arguments.session))
    return Session(portal)


def _answer(arguments: argparse.Namespace, value: object, words: str) -> None:
    print(json.dumps(value) if arguments.is_json else words, flush=True)


def _parser(version: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dsportal-ssh", description="Your sessions at the portal, and ssh to them."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(run: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(run.__name__.lstrip("_"), help=text)
        command.add_argument("--name", default=DEFAULT_NAME, help="the host's name (%(default)s)")
        if run is not _list:
            command.add_argument("--session", help="a session that has a name of its own")
        command.set_defaults(run=run)
        return command

    setup = add(_setup, "add a host to ssh that stands for your session")
    setup.add_argument(
        "--print", dest="is_printed", action="store_true", help="change no file of ssh, print"
    )
    login = add(_login, "keep a token of yours, without ssh")
    for command in (setup, login):
        command.add_argument("url", help="the portal's address, such as https://portal.example.com")
        command.add_argument("--ca-file", default="", help="certificates that vouch for the portal")
    start = add(_start, "start a session and wait until it runs")
    start.add_argument("--gpus", help="number of GPUs")
    start.add_argument("--hours", help="length")
    start.add_argument("--type", dest="gpu_type", help="type of GPU")
    start.add_argument("--open", dest="is_opened", action="store_true", help="show it in a browser")
    of_portal = add(_list, "list your sessions")
    why = add(_why, "say why a session waits, or does not start")
    stop = add(_stop, "stop a session, or take it out of the queue")
    show = add(_open, "show a session in a browser")
    show.add_argument("--print", dest="is_printed", action="store_true", help="print its address")
    for command in (login, start, of_portal, why, stop, show):
        command.add_argument("--json", dest="is_json", action="store_true", help="answer as JSON")
    proxy = commands.add_parser("proxy", help="run by ssh")
    proxy.add_argument("name")
    proxy.set_defaults(run=_proxy)
    return parser


def main(argv: Sequence[str] | None = None, *, version: str = "") -> int:
    """Run the command.

    Returns:
        0, 1 with a sentence on standard error, or 130 for Ctrl-C. argparse exits with 2.
    """
    arguments = _parser(version).parse_args(argv)
    try:
        arguments.run(arguments)
    except LaptopError as error:
        print(f"dsportal-ssh: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
