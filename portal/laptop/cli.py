"""The command: setup, which users run once, and proxy, which ssh runs for each connection."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from websocket import WebSocket, WebSocketException

from .host import DEFAULT_NAME, Host, SshProxyError, home_of, parse_url, write_private
from .setup import ask_name, set_up
from .web_socket import connect, end

_CHUNK_BYTES = 64 * 1024


def carry(host: Host, read: Callable[[], bytes], write: Callable[[bytes], object]) -> None:
    """Carry the bytes of one connection between ssh and the session, until one of them ends.

    `read` returns ssh's next bytes, and `write` takes what ssh is to get; both may block.
    """
    home = home_of(host.name)
    token = (home / "token").read_text(encoding="ascii").strip()
    parts = (quote(part, safe="") for part in (ask_name(host, token), host.session) if part)
    way = connect(host, f"user/{'/'.join(parts)}/portal/ssh", token)
    try:
        key = (home / "key.pub").read_text(encoding="ascii").strip()
        way.send(json.dumps({"public_key": key}))
        said = json.loads(way.recv() or '{"message": "The session closed at once."}')
        if "message" in said:
            raise SshProxyError(said["message"])
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
    home = home_of(arguments.name)
    try:
        host = Host(**json.loads((home / "settings.json").read_text(encoding="utf-8")))
        carry(host, lambda: os.read(0, _CHUNK_BYTES), _write_all)
    except FileNotFoundError as error:
        raise SshProxyError(f"{error.filename} is missing. Run: dsportal-ssh.pyz setup") from error
    except (OSError, ValueError, WebSocketException) as error:
        raise SshProxyError(f"The portal cannot be reached: {error}") from error


def _write_all(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _setup(arguments: argparse.Namespace) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", arguments.name):
        raise SshProxyError(f"{arguments.name!r} cannot be a host's name: take letters and digits.")
    ca_file = str(Path(arguments.ca_file).resolve()) if arguments.ca_file else ""
    host = Host(arguments.name, parse_url(arguments.url), arguments.session, ca_file)
    if sys.stdin.isatty():
        token = getpass.getpass(f"Token, made on {host.address('hub/token')}: ")
    else:
        token = sys.stdin.readline()
    print(set_up(host, token.strip(), is_printed=arguments.is_printed))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0, or 1 with a sentence on standard error.
    """
    parser = argparse.ArgumentParser(prog="dsportal-ssh", description="ssh to your session.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    setup = commands.add_parser("setup", help="add a host to ssh that stands for your session")
    setup.add_argument("url", help="the portal's address, such as https://portal.example.com")
    setup.add_argument("--name", default=DEFAULT_NAME, help="the host's name (%(default)s)")
    setup.add_argument("--session", default="", help="a session that has a name of its own")
    setup.add_argument("--ca-file", default="", help="certificates that vouch for the portal")
    setup.add_argument(
        "--print", dest="is_printed", action="store_true", help="change no file of ssh, print"
    )
    setup.set_defaults(run=_setup)
    proxy = commands.add_parser("proxy", help="run by ssh")
    proxy.add_argument("name")
    proxy.set_defaults(run=_proxy)
    arguments = parser.parse_args(argv)
    try:
        arguments.run(arguments)
    except SshProxyError as error:
        print(f"dsportal-ssh: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
