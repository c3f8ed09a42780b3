"""Installs the programs that sudo lets a hub start, and writes the rules that name them."""

import argparse
import grp
import os
import pwd
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from dsportal.whole_file import write_whole
from portal.confirmation import may_change
from spawner.errors import SiteError
from spawner.root_owned import open_to_others
from spawner.sudo_rules import render_rules

# -I keeps out the user's PYTHON variables and packages, -S the packages of the site.
FIRST_LINE = "#!/usr/bin/python3 -IS"
OLDEST_PYTHON = (3, 11)
LAUNCHER = "dsportal-launcher"
EXTENDER = "dsportal-extender"
PROGRAMS = {
    "launcher.py": LAUNCHER,
    "extend_time_limit.py": EXTENDER,
    "storage_checks.py": "dsportal-storage-checks",
}
VARIABLES = "slurm.env"
MARK = "Written by 'dsportal install-launcher'."
_PROGRAM_MODE = 0o755
_RULES_MODE = 0o440
_TIMEOUT_S = 20.0


def run_install_launcher(arguments: argparse.Namespace) -> int:
    """Install the programs, check the rules with visudo, print them, and write them if asked to."""
    folder: Path = arguments.to
    if os.geteuid() != 0:
        raise SiteError(
            "install-launcher writes programs that only root may change. Run it as root."
        )
    _require_account(arguments)
    check_python(arguments.python)
    rules_too = f", and write {arguments.sudoers}" if arguments.sudoers else ""
    if not may_change(
        arguments, f"Install {', '.join(PROGRAMS.values())} into {folder}{rules_too}"
    ):
        return 0
    install_programs(folder, arguments.python)
    rules = render_rules(
        account=arguments.account,
        group=arguments.users_group,
        slurm_user=arguments.slurm_user,
        launcher=folder / LAUNCHER,
        extender=folder / EXTENDER,
        mark=MARK,
        variables=_keep_variables(folder, arguments.slurm_conf),
    )
    check_rules(rules)
    print(rules, end="")
    if arguments.sudoers:
        _write(arguments.sudoers, rules, _RULES_MODE)
    else:
        _say("Put these lines into a file of /etc/sudoers.d, without a dot in its name; or run")
        _say("this again with --sudoers FILE, which writes it.")
    return 0


def _require_account(arguments: argparse.Namespace) -> None:
    lacking = [
        f"account {name}"
        for name in (arguments.account, arguments.slurm_user)
        if not _exists(pwd.getpwnam, name)
    ]
    if not _exists(grp.getgrnam, arguments.users_group):
        lacking.append(f"group {arguments.users_group}")
    if lacking:
        raise SiteError(
            f"This host has no {' and no '.join(lacking)}. Correct the name, or make it first."
        )


def _exists(look_up: Callable[[str], object], name: str) -> bool:
    try:
        look_up(name)
    except KeyError:
        return False
    return True


def check_python(python: Path) -> None:
    """Refuse an interpreter that is too old, or that others than root can change."""
    words = "import sys; print(*sys.version_info[:2])"
    try:
        if path := open_to_others(python):
            raise SiteError(
                f"{path} can be changed by others than root, so sudo may not start it. Name the"
                " system's own Python with --python."
            )
        argv = [str(python), "-I", "-S", "-c", words]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SiteError(f"{python} cannot be run: {error}. Name another with --python.") from error
    found = tuple(int(word) for word in done.stdout.split())
    if found < OLDEST_PYTHON:
        raise SiteError(
            f"{python} is Python {'.'.join(map(str, found))}, and the launcher needs"
            f" {'.'.join(map(str, OLDEST_PYTHON))} or newer. Name another with --python."
        )


def install_programs(folder: Path, python: Path) -> None:
    """Write the programs into a folder that only root can change."""
    if not folder.is_absolute():
        raise SiteError(f"{folder} is not an absolute path, which sudo's rules need. Name one.")
    # Explicitly, because a umask would close the folder to the users who run the programs.
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir()
        path.chmod(_PROGRAM_MODE)
    if (open_path := open_to_others(folder)) is not None:
        raise SiteError(
            f"{open_path} can be changed by others than root, and with it what runs as users. Name"
            f" another folder with --to, or run: chown root:root {open_path};"
            f" chmod go-w {open_path}"
        )
    for source, name in PROGRAMS.items():
        text = files("spawner.programs").joinpath(source).read_text(encoding="utf-8")
        if not text.startswith(f"{FIRST_LINE}\n"):
            raise SiteError(f"{source} of this package was changed. Install the package again.")
        _write(folder / name, text.replace("/usr/bin/python3", str(python), 1), _PROGRAM_MODE)
        _say(f"installed {folder / name}")


def check_rules(rules: str) -> None:
    """Let visudo check rules before sudo reads them."""
    argv = ["visudo", "-c", "-f", "-"]
    try:
        done = subprocess.run(
            argv, input=rules, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except OSError as error:
        raise SiteError(
            "There is no visudo on this host, so no sudo. Install sudo: with it the hub submits"
            " jobs as its users."
        ) from error
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}".strip()
        raise SiteError(f"visudo refuses the rules: {said}. Check the names that were given.")


def _keep_variables(folder: Path, slurm_conf: Path | None) -> Path | None:
    # sudo passes no variable of the hub's on.
    if slurm_conf is None:
        return None
    if not (slurm_conf.is_absolute() and slurm_conf.is_file()):
        raise SiteError(f"{slurm_conf} is no file. Name the cluster's slurm.conf in full.")
    path = folder / VARIABLES
    _write(path, f"# {MARK}\nSLURM_CONF={slurm_conf}\n", 0o644)
    return path


def _write(path: Path, text: str, mode: int) -> None:
    # A program that runs is replaced, not written to.
    write_whole(path, text.encode(), mode=mode)
    os.chown(path, 0, 0)
    # Whatever the umask has taken away.
    path.chmod(mode)


def _say(text: str) -> None:
    # Standard output has the rules alone.
    print(text, file=sys.stderr)
