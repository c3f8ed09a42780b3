"""The command `dsportal` in sessions: in terminals, in cells, and in jobs that are submitted."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

VARIABLE = "PORTAL_COMMANDS"
# Those whose login may set PATH anew, as /etc/profile does, and that understand the line below.
_SHELLS = frozenset({"bash", "dash", "ksh", "sh", "zsh"})
_AFTER_LOGIN = f'PATH="${VARIABLE}:$PATH"; export PATH; exec "$0"'


def offer_commands(environ: MutableMapping[str, str], prefix: Path) -> None:
    """Put the folder of the portal's command in front of the PATH.

    Args:
        environ: Environment of the notebook server, which everything in the session inherits.
        prefix: The notebook server's environment.
    """
    folder = prefix / "commands"
    if folder.is_dir():
        environ[VARIABLE] = str(folder)
        environ["PATH"] = f"{folder}:{environ.get('PATH', os.defpath)}"


def terminal_shell(shell: str) -> list[str] | None:
    """Return what a terminal runs, so that the command is found after the login of its shell.

    Args:
        shell: The user's shell, a path.

    Returns:
        An argument list; None for a shell that is not known here, which starts as it always does.
    """
    if os.path.basename(shell) not in _SHELLS:
        return None
    return [shell, "-l", "-c", _AFTER_LOGIN, shell]
