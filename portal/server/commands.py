"""Puts the command `dsportal` on the PATH of terminals, cells and submitted jobs."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

VARIABLE = "PORTAL_COMMANDS"
# Shells that understand the line below, and whose login may overwrite PATH, as /etc/profile does.
_SHELLS = frozenset({"bash", "dash", "ksh", "sh", "zsh"})
_AFTER_LOGIN = f'PATH="${VARIABLE}:$PATH"; export PATH; exec "$0"'


def offer_commands(environ: MutableMapping[str, str], prefix: Path) -> None:
    """Put the folder of the portal's command first on the PATH that the session inherits."""
    folder = prefix / "commands"
    if folder.is_dir():
        environ[VARIABLE] = str(folder)
        environ["PATH"] = f"{folder}:{environ.get('PATH', os.defpath)}"


def terminal_shell(shell: str) -> list[str] | None:
    """Return the command of a terminal, so that `dsportal` is found after the shell's login.

    It is None for an unknown shell, which starts as it always does.
    """
    if os.path.basename(shell) not in _SHELLS:
        return None
    # The last word becomes $0, the shell that `exec` starts once the login has set PATH.
    return [shell, "-l", "-c", _AFTER_LOGIN, shell]
