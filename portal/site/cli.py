"""The commands of `dsportal` for the administrators of a site."""

import argparse
import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from portal.confirmation import Commands, add_options
from spawner.installed_paths import DEFAULT_SETTINGS_PATH, LAUNCHER
from spawner.settings.extension import ExtensionSettings

WAIT_S = 60.0


def add_commands(commands: Commands) -> None:
    """Add the administrators' commands to the parser of `dsportal`."""
    _add_check(commands)
    _add_operations(commands)
    _add_users(commands)
    _add_usage(commands)
    _add_parts(commands)
    _add_install_launcher(commands)


def _command(module: str, name: str, room: str = "commands") -> Callable[[argparse.Namespace], int]:
    """Return a command whose module is imported when it runs, so that --help loads none."""

    def run(arguments: argparse.Namespace) -> int:
        act: Callable[[argparse.Namespace], int]
        act = getattr(import_module(f"portal.site.{room}.{module}"), name)
        return act(arguments)

    return run


def _add_operations(commands: Commands) -> None:
    status = commands.add_parser(
        "status", help="print versions, sessions and whether Slurm answers"
    )
    status.add_argument("--json", action="store_true", help="print JSON")
    status.set_defaults(run=_command("running_hub", "show_status"))
    drain = commands.add_parser("drain", help="refuse new sessions while running ones continue")
    drain.add_argument("--message", default="", metavar="TEXT", help="reason shown to users")
    add_options(drain)
    drain.set_defaults(run=_command("running_hub", "drain"))
    undrain = commands.add_parser("undrain", help="accept new sessions again")
    undrain.set_defaults(run=_command("running_hub", "undrain"))
    sessions = commands.add_parser("sessions", help="stop users' sessions")
    stop = sessions.add_subparsers(required=True, metavar="ACTION").add_parser(
        "stop", help="stop the sessions of a partition, of a user, or all"
    )
    stop.add_argument(
        "--partition",
        default="",
        metavar="NAME",
        help="Slurm partition; of a further cluster such as volta:gpu",
    )
    stop.add_argument("--user", default="", metavar="NAME", help="owner of the sessions")
    stop.add_argument("--all", action="store_true", help="every session")
    stop.add_argument("--message", default="", metavar="TEXT", help="message to their users")
    add_options(stop)
    stop.set_defaults(run=_command("running_hub", "stop_sessions"))
    for parser in (status, drain, undrain, stop):
        _add_settings(parser)


def _add_users(commands: Commands) -> None:
    users = commands.add_parser("users", help="list the portal's users, remove those who have left")
    actions = users.add_subparsers(required=True, metavar="ACTION")
    everybody = actions.add_parser(
        "list", help="print all users of the hub and the state of their accounts"
    )
    everybody.add_argument("--json", action="store_true", help="print JSON")
    everybody.set_defaults(run=_command("users", "list_users"))
    remove = actions.add_parser(
        "remove", help="stop a user's sessions and revoke tokens and cookies (files are kept)"
    )
    remove.add_argument("user", metavar="NAME", help="user of the hub")
    remove.add_argument(
        "--even-if-allowed", action="store_true", help="even if the account may still log in"
    )
    add_options(remove)
    remove.set_defaults(run=_command("users", "remove_user"))
    move = actions.add_parser("move", help="give a user to another hub of [hubs]")
    move.add_argument("user", metavar="NAME", help="user of the portal")
    move.add_argument("hub", metavar="PATH", help="base_url of the hub, such as /b/")
    move.add_argument(
        "--now",
        action="store_true",
        help="also while a session runs, which then is reached by its own address alone",
    )
    add_options(move)
    move.set_defaults(run=_command("users", "move_user"))
    for parser in (everybody, remove, move):
        _add_settings(parser)


def _add_usage(commands: Commands) -> None:
    usage = commands.add_parser(
        "usage", help="print GPU hours by group and user, from Slurm's accounting"
    )
    usage.add_argument(
        "--since",
        default="",
        metavar="DATE",
        help="first day, such as 2026-11-01 (default: this month)",
    )
    usage.add_argument(
        "--until", default="", metavar="DATE", help="day after the last one (default: until now)"
    )
    usage.add_argument(
        "--by",
        choices=("group", "account"),
        default="group",
        help="UNIX group of the job, or account of Slurm (default: %(default)s)",
    )
    usage.add_argument("--weeks", action="store_true", help="one table for each week")
    usage.add_argument("--json", action="store_true", help="print JSON")
    usage.add_argument("--csv", action="store_true", help="print CSV")
    usage.add_argument("--gauges", action="store_true", help="print gauges for Prometheus")
    _add_settings(usage)
    usage.set_defaults(run=_command("usage", "show_usage"))


def _add_parts(commands: Commands) -> None:
    part = commands.add_parser("run", help="run the proxy (for systemd)")
    part.add_argument("part", choices=("proxy",), help="the program")
    _add_settings(part)
    part.set_defaults(run=_command("services", "run_proxy"))
    backup = commands.add_parser("backup", help="copy the hub's database while it runs")
    backup.add_argument(
        "--restore", type=Path, metavar="COPY", help="restore this copy (stop the hub first)"
    )
    add_options(backup)
    _add_settings(backup)
    backup.set_defaults(run=_command("backup", "run_backup"))
    switch = commands.add_parser("switch", help="use another installed version (sessions continue)")
    switch.add_argument("version", metavar="VERSION", help="an installed version")
    switch.add_argument(
        "--database",
        type=Path,
        metavar="COPY",
        help="go back to this copy of the database, which an older version needs",
    )
    add_options(switch)
    _add_settings(switch)
    switch.set_defaults(run=_command("upgrade", "run_switch"))


def _add_install_launcher(commands: Commands) -> None:
    launcher = commands.add_parser(
        "install-launcher",
        help="install the programs that sudo starts for the spawner in your own JupyterHub",
        description="Installs the programs that the hub runs as its users, and prints the rules of "
        "sudo that allow them, checked by visudo. deploy/site/install does this itself.",
    )
    add = launcher.add_argument
    add(
        "--to",
        type=Path,
        default=Path(LAUNCHER).parent,
        metavar="DIR",
        help="folder that only root can change (default: %(default)s)",
    )
    add("--account", required=True, metavar="NAME", help="the hub's account")
    add("--users-group", required=True, metavar="NAME", help="UNIX group of the hub's users")
    add(
        "--slurm-user",
        default=ExtensionSettings().slurm_user,
        metavar="NAME",
        help="SlurmUser of slurm.conf (default: %(default)s)",
    )
    add(
        "--slurm-conf",
        type=Path,
        metavar="FILE",
        help="slurm.conf, if users find theirs by SLURM_CONF",
    )
    add(
        "--python",
        type=Path,
        default=Path("/usr/bin/python3"),
        metavar="FILE",
        help="interpreter of these programs, root's own (default: %(default)s)",
    )
    add("--sudoers", type=Path, metavar="FILE", help="also write the rules to this file")
    add_options(launcher)
    launcher.set_defaults(run=_command("install_launcher", "run_install_launcher"))


def _add_check(commands: Commands) -> None:
    check = commands.add_parser(
        "check",
        help="check the whole site, with a fix for each problem",
        description="Checks everything that sessions need. Run it as root or as the hub's "
        "account. With --user it also runs short jobs as that user in each partition.",
    )
    _add_settings(check)
    check.add_argument(
        "--user", default="", metavar="NAME", help="user of the portal who runs short jobs"
    )
    check.add_argument(
        "--gpus",
        type=_at_least_0(int),
        default=0,
        help="GPUs of the job that checks a node (default: 0)",
    )
    check.add_argument(
        "--wait",
        type=_at_least_0(float),
        default=WAIT_S,
        metavar="SECONDS",
        help="longest wait of the short jobs in the queue (default: %(default)g)",
    )
    check.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CHECK",
        help="run only this check (can be repeated)",
    )
    check.add_argument("--json", action="store_true", help="print JSON, for monitoring")
    check.add_argument("--debug", action="store_true", help="print each step")
    check.set_defaults(run=_command("site", "run_site_check", room="checks"))


def _at_least_0(kind: type[float]) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = kind(text)
        # Also what is not a number (nan).
        if not 0 <= value < math.inf:
            raise argparse.ArgumentTypeError(f"{text} is not a number from 0 on")
        return value

    # argparse names it if the text is no number at all.
    parse.__name__ = kind.__name__
    return parse


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--settings",
        type=Path,
        default=DEFAULT_SETTINGS_PATH,
        metavar="FILE",
        help="the site's settings (default: %(default)s)",
    )
