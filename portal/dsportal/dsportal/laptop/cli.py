"""The command: its parser, and how it ends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from dsportal import __version__

from . import verbs
from .host import DEFAULT_NAME, LaptopError
from .job_options import add_new, add_size
from .mcp import CHANGES
from .setup import known_portal
from .sweeps import add_actions

_EXIT_CODES = (
    "Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 the portal cannot be reached, 130 "
    "Ctrl-C. ssh and cp end as OpenSSH's programs do."
)
_SESSION = "a session that has a name of its own"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs."""
    parser = argparse.ArgumentParser(
        prog="dsportal",
        description="Your sessions and jobs at the portal, and ssh to them.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(
        run: Callable[[argparse.Namespace], int | None], text: str, word: str = ""
    ) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = commands.add_parser(
            word or run.__name__, help=text, description=text[:1].upper() + text[1:]
        )
        command.add_argument(
            "--name", default=DEFAULT_NAME, help="the portal and host (%(default)s)"
        )
        command.set_defaults(run=run, parser=parser, portal=lambda given: known_portal(given.name))
        return command

    _add_login(add)
    _add_sessions(add)
    add_shared(add)
    _add_orders(add)
    ssh = add(verbs.ssh, "run a command in a session, or a shell")
    ssh.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help="the command")
    copy = add(verbs.copy, "copy files and folders to or from a session", "cp")
    copy.add_argument(
        "paths", nargs="+", metavar="PATH", help="those of the session begin with a colon: :data/x"
    )
    mcp = add(verbs.mcp, "serve agents of this machine by the Model Context Protocol")
    mcp.add_argument(
        "--allow",
        dest="allowed",
        action="append",
        choices=CHANGES,
        default=[],
        help="a tool that starts, stops or runs something; can be given several times",
    )
    add(verbs.completion, "print what completes these words in bash and zsh")
    proxy = commands.add_parser("proxy", help="run by ssh", description="Run by ssh")
    proxy.add_argument("name", help="the host's name")
    proxy.set_defaults(run=verbs.proxy)
    return parser


_Add = Callable[..., argparse.ArgumentParser]


def _add_login(add: _Add) -> None:
    login = add(verbs.login, "keep a token of yours, without ssh")
    login.add_argument(
        "--keep",
        choices=("keyring", "file"),
        help="where (the keyring if Python's package keyring has one, else a file)",
    )
    setup = add(verbs.setup, "add a host to ssh that stands for your session")
    setup.add_argument(
        "--print", dest="is_printed", action="store_true", help="change no file of ssh, print"
    )
    for command in (login, setup):
        command.add_argument("url", help="the portal's address, such as https://portal.example.com")
        command.add_argument("--ca-file", default="", help="certificates that vouch for the portal")
        _add_session(command)


def _add_sessions(add: _Add) -> None:
    start = add(verbs.start, "start a session and wait until it runs")
    for option, text in verbs.START_OPTIONS.items():
        start.add_argument(f"--{option.removeprefix('gpu_')}", dest=option, help=text)
    start.add_argument(
        "--open",
        dest="opened",
        nargs="?",
        const="lab",
        choices=tuple(verbs.OPENED),
        help="then show it in a browser (lab), with VS Code there, or be in a shell",
    )
    extend = add(verbs.extend, "give a session more time, by your site's step")
    stop = add(verbs.stop, "stop a session, or take it out of the queue")
    for command in (start, extend, stop):
        _add_session(command)


def add_shared(add: _Add, *, is_own: bool = False) -> None:
    """Add the verbs that the command of sessions has, too.

    Args:
        add: Adds the parser of a verb, from its function, its text and its word.
        is_own: Whether it is for a session, where some verbs are about that session alone.
    """
    _add_json(add(verbs.list_all, "list your sessions", "list"))
    why = add(verbs.why, "say why a session waits, or does not start")
    # The same as --session, which says nothing where this is left out.
    why.add_argument("session", nargs="?", default=argparse.SUPPRESS, help=_SESSION)
    show = add(verbs.open_page, "show a session in a browser", "open")
    show.add_argument("--print", dest="is_printed", action="store_true", help="print its address")
    jobs = add(verbs.jobs, "list your Slurm jobs and runs, and why they wait")
    logs = add(verbs.logs, "show the output of a job or a run")
    logs.add_argument(
        "job", nargs="?", default="", help="number, or a part of a run's name (the newest)"
    )
    logs.add_argument(
        *("-f", "--follow"), dest="is_followed", action="store_true", help="wait until it ends"
    )
    gpu = add(verbs.gpu, "show or change the GPUs of a notebook's kernel")
    gpu.add_argument("gpus", nargs="?", help="number, or type and number: 2, v100:2, 0 for none")
    gpu.add_argument("--hours", default="", help="length")
    gpu.add_argument("--notebook", default="", help="its path in the session, if several are open")
    for command in (why, show):
        _add_session(command)
    for command in (jobs, logs, gpu):
        (_add_json if is_own else _add_session)(command)


def _add_orders(add: _Add) -> None:
    job = add(verbs.new_job, "run a notebook or a script of the session as a job", "job")
    add_new(job.add_subparsers(required=True, metavar="ACTION"), _add_where)
    new, show, stop = add_actions(
        add(verbs.sweep, "try many values with a notebook or a script of the session")
    )
    add_size(new)
    for command in (new, show, stop):
        _add_where(command)
        _add_json(command)


def _add_session(command: argparse.ArgumentParser) -> None:
    command.add_argument("--session", help=_SESSION)
    _add_json(command)


def _add_where(command: argparse.ArgumentParser) -> None:
    # Below a group, which has the portal's default.
    command.add_argument("--name", default=argparse.SUPPRESS, help=f"the portal ({DEFAULT_NAME})")
    command.add_argument("--session", help=_SESSION)


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", dest="is_json", action="store_true", help="answer as JSON")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        An exit code of `_EXIT_CODES`; argparse exits with 2.
    """
    arguments = build_parser().parse_args(argv)
    try:
        return arguments.run(arguments) or 0
    except LaptopError as error:
        print(f"dsportal: {error}", file=sys.stderr)
        return error.exit_code
    # The reader of the output, such as head, has ended.
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130
