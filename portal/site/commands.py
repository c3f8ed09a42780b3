"""The commands of `dsportal` for the administrators of a site."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from portal.hub.settings import DEFAULT_SETTINGS_PATH

WAIT_S = 60.0


def add_commands(commands: Any) -> None:
    """Add them to the parser of `dsportal`.

    Args:
        commands: What argparse's `add_subparsers` returned.
    """
    _add_check(commands)


def _add_check(commands: Any) -> None:
    check = commands.add_parser(
        "check",
        help="look at the whole site: each line with its cure",
        description="Looks at everything that sessions need. Run it as root or as the hub's "
        "account. With --user it also runs a short job as that user in each partition.",
    )
    _add_settings(check)
    check.add_argument("--user", default="", metavar="NAME", help="a user of the portal")
    check.add_argument("--gpus", type=int, default=0, help="GPUs of the short jobs (default: 0)")
    check.add_argument(
        "--wait",
        type=float,
        default=WAIT_S,
        metavar="SECONDS",
        help="for which the short jobs may wait in the queue (default: %(default)g)",
    )
    check.add_argument(
        "--only", action="append", default=[], metavar="CHECK", help="do only this one; repeatable"
    )
    check.add_argument("--json", action="store_true", help="print JSON, for monitoring")
    check.add_argument("--debug", action="store_true", help="print what goes on")
    check.set_defaults(run=_run_check)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--settings",
        type=Path,
        default=DEFAULT_SETTINGS_PATH,
        metavar="FILE",
        help="the site's settings (default: %(default)s)",
    )


def _run_check(arguments: argparse.Namespace) -> int:
    # The other commands also run in environments that have neither JupyterHub nor LDAP.
    from portal.site.site_checks import run_site_check

    return run_site_check(arguments)
