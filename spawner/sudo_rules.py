"""The rules by which sudo lets the hub act as its users: two programs, without any argument."""

from __future__ import annotations

import re
from pathlib import Path

# What begins or ends a word of sudoers.
_SPECIAL = re.compile(r"([^A-Za-z0-9_.-])")


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
        account: The hub's account.
        group: UNIX group of the users.
        slurm_user: Slurm's own account.
        launcher: Program that the hub runs as users.
        extender: Program that it runs as `slurm_user`.
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
