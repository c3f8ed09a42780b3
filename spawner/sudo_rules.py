"""The rules by which sudo lets the hub act as its users: two programs, without any argument."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from spawner.root_owned import open_to_others

# What begins or ends a word of sudoers.
_SPECIAL = re.compile(r"([^A-Za-z0-9_.-])")
_RULE = re.compile(r"^\s+\((?P<runs_as>[^)]*)\)\s*(?P<rest>.*)$", re.MULTILINE)
# Such as NOPASSWD: and SETENV:, in front of a command.
_TAG = re.compile(r"^\s*(?:[A-Z_]+:\s*)+")


def render_rules(
    *,
    account: str,
    group: str,
    slurm_user: str,
    launcher: Path,
    extender: Path,
    mark: str,
    variables: Path | None = None,
) -> str:
    """Return the text of a file for sudo's folder: one program as any user, one as Slurm's account.

    Args:
        mark: First line of the file, which says who wrote it.
        variables: File of root's with variables that these programs find in their environment.

    Source:
        sudoers(5) 1.9.13, "Sudoers file format".
    """
    # A group and not ALL: the hub becomes neither root nor another service this way. The empty
    # string after a program allows no argument.
    account, group, slurm_user = (_SPECIAL.sub(r"\\\1", n) for n in (account, group, slurm_user))
    allowed = ((f"%{group}", launcher), (slurm_user, extender))
    rules = [f'{account} ALL=({runs_as}) NOPASSWD: {path} ""' for runs_as, path in allowed]
    defaults = [f"Defaults:{account} env_file={variables}"] if variables else []
    return "\n".join([f"# {mark}", *defaults, *rules, ""])


def fault_of_program(program: Path, install: str) -> tuple[str, str] | None:
    """Return what is wrong with a program that sudo starts as users, and what to do.

    `install` says how one that is missing is installed.
    """
    if not os.access(program, os.X_OK):
        return f"{program} is missing.", install
    if path := open_to_others(program):
        return (
            f"{path} can be changed by others than root, and with it what runs as users.",
            f"As root, run: chown root:root {path}; chmod go-w {path}",
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SudoRule:
    """One command that sudo allows.

    Attributes:
        runs_as: A user, or a group behind "%".
        command: Program with its arguments; '""' allows no argument.
    """

    runs_as: str
    command: str


def parse_rules(text: str) -> list[SudoRule]:
    """Return a rule for each command in the output of `sudo -l`.

    Source:
        sudo 1.9.13, `sudo -l` in the C locale.
    """
    return [
        SudoRule(runs_as=match["runs_as"].strip(), command=_TAG.sub("", command).strip())
        for match in _RULE.finditer(text)
        for command in match["rest"].split(",")
    ]
