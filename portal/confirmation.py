"""The question that a command asks before it changes something: --yes and --dry-run."""

import argparse
import sys
from typing import Any, TypeAlias

from dsportal.slurm.errors import PortalError

# What argparse's `add_subparsers` returns; it has no public name.
Commands: TypeAlias = "argparse._SubParsersAction[Any]"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --yes and --dry-run to the parser of a command that changes something."""
    add_yes(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would change, and change nothing"
    )


def add_yes(parser: argparse.ArgumentParser) -> None:
    """Add --yes alone."""
    parser.add_argument(
        "--yes", action="store_true", help="do not ask (required without a terminal)"
    )


def confirm(change: str, *, yes: bool) -> None:
    """Ask at the terminal whether to make a change, unless `yes`.

    `change` is an imperative sentence without a full stop, such as "Stop all 3 sessions".
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise PortalError(
            f"Cannot ask without a terminal: {change}? Nothing was changed. Use --yes to confirm."
        )
    try:
        answer = input(f"{change}? [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        raise PortalError("Nothing was changed.")


def may_change(arguments: argparse.Namespace, change: str) -> bool:
    """Return whether to make a change; False with --dry-run, which only prints it.

    Args:
        arguments: With `yes` and `dry_run`.
        change: As for `confirm`.
    """
    if arguments.dry_run:
        print(f"Without --dry-run: {change}. Nothing was changed.")
        return False
    confirm(change, yes=arguments.yes)
    return True
