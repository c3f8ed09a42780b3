"""The command `dsportal`: checks and explains settings, environments, packages and the site."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from dsportal.laptop.host import LaptopError
from dsportal.slurm.errors import PortalError
from portal import activate_command, job_command, session_command, sweep_command
from portal.confirmation import Commands
from portal.environments import cli as environments
from portal.packages import cli as packages
from portal.site import cli as site
from spawner import __version__
from spawner.installed_paths import DEFAULT_SETTINGS_PATH

VERSION = f"Data Scientist Portal {__version__}"
EXIT_OK = 0
EXIT_ERROR = 1
# 128 and the number of SIGINT, as shells report it.
EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the only place where errors of the portal become an exit status.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        0 for success, 1 with one line on standard error if not, 3 if the portal did not answer,
        130 after Ctrl-C.
    """
    return _run(build_parser().parse_args(argv))


def user_main(argv: Sequence[str] | None = None) -> int:
    """Run the command as sessions have it, without the administrators' part.

    Returns:
        Exit status, as for `main`.
    """
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in _administrators_commands():
        print(
            f"dsportal: {words[0]} is for administrators: it is a command of dsportal on the "
            "portal's head node. For what sessions have: dsportal --help",
            file=sys.stderr,
        )
        return EXIT_ERROR
    return _run(build_user_parser().parse_args(words))


def _run(arguments: argparse.Namespace) -> int:
    run: Callable[[argparse.Namespace], int | None] = arguments.run
    try:
        return run(arguments) or EXIT_OK
    except (PortalError, LaptopError) as error:
        print(f"dsportal: {error}", file=sys.stderr)
        return getattr(error, "exit_code", EXIT_ERROR)
    # The reader of the output, such as head, has ended.
    except BrokenPipeError:
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog="dsportal", description="The Data Scientist Portal.")
    _add_version(parser)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_user_commands(commands, parser)
    _add_administrators_commands(commands)
    return parser


def _administrators_commands() -> frozenset[str]:
    commands = argparse.ArgumentParser().add_subparsers()
    _add_administrators_commands(commands)
    return frozenset(commands.choices)


def _add_administrators_commands(commands: Commands) -> None:
    config = commands.add_parser("config", help="check and explain the site's settings")
    actions = config.add_subparsers(required=True, metavar="ACTION")
    check = actions.add_parser("check", help="read the settings and report mistakes")
    check.add_argument(
        "--settings",
        type=Path,
        default=DEFAULT_SETTINGS_PATH,
        metavar="FILE",
        help="the file to check (default: %(default)s)",
    )
    check.set_defaults(run=check_config)
    example = actions.add_parser("example", help="print a complete settings file with comments")
    example.set_defaults(run=print_example)
    reference = actions.add_parser("reference", help="print the meaning of every key, as Markdown")
    reference.set_defaults(run=print_reference)
    site.add_commands(commands)


def build_user_parser() -> argparse.ArgumentParser:
    """Return the parser of the commands for users in their sessions."""
    parser = argparse.ArgumentParser(
        prog="dsportal",
        description="The Data Scientist Portal.",
        epilog="Administrators have more commands on the portal's head node.",
    )
    _add_version(parser)
    _add_user_commands(parser.add_subparsers(required=True, metavar="COMMAND"), parser)
    return parser


def _add_version(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--version",
        action="version",
        version=VERSION,
        help="print the version of the portal",
    )


def _add_user_commands(commands: Commands, parser: argparse.ArgumentParser) -> None:
    version = commands.add_parser("version", help="print the version of the portal")
    version.set_defaults(run=print_version)
    environments.add_commands(commands)
    packages.add_commands(commands)
    activate_command.add_commands(commands)
    job_command.add_commands(commands)
    sweep_command.add_commands(commands)
    session_command.add_commands(commands, parser)


def print_version(_: argparse.Namespace) -> int:
    """Print the version."""
    print(VERSION)
    return EXIT_OK


def check_config(arguments: argparse.Namespace) -> int:
    """Read the settings and print what this host lacks for them.

    Returns:
        0 if the hub can start with them, 1 if not.
    """
    # Not for each start of the command: settings take longer to load than all else.
    from portal.hub.config_check import site_problems
    from portal.hub.settings.loader import load_settings

    settings = load_settings(arguments.settings)
    problems = site_problems(settings)
    for problem in problems:
        print(problem)
    if problems:
        return EXIT_ERROR
    print(f"{arguments.settings}: the hub can start with these settings.")
    return EXIT_OK


def print_example(_: argparse.Namespace) -> int:
    """Print a complete settings file."""
    from portal.hub.settings.reference import example_toml

    print(example_toml(), end="")
    return EXIT_OK


def print_reference(_: argparse.Namespace) -> int:
    """Print a reference of all settings, as Markdown."""
    from portal.hub.settings.reference import reference_markdown

    print(reference_markdown(), end="")
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
