"""Puts the commands of sessions into terminals, cells and submitted jobs: `dsportal`, `module`."""

from __future__ import annotations

import os
import shlex
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

VARIABLE = "PORTAL_COMMANDS"
# Shells that understand the line below, and whose login may overwrite PATH, as /etc/profile does.
_SHELLS = frozenset({"bash", "dash", "ksh", "sh", "zsh"})
_AFTER_LOGIN = f'PATH="${VARIABLE}:$PATH"; export PATH; exec "$0" "$@"'
_BASHRC = Path(__file__).with_name("terminal.bashrc")
# bash's form of an exported function. Its first call replaces it by those of the site's script.
_MODULE = '() {{  unset -f module ml; . {init} && {name} "$@"\n}}'


def offer_commands(environ: MutableMapping[str, str], prefix: Path) -> None:
    """Put the folder of the portal's command first on the PATH that the session inherits."""
    folder = prefix / "commands"
    if folder.is_dir():
        environ[VARIABLE] = str(folder)
        environ["PATH"] = f"{folder}:{environ.get('PATH', os.defpath)}"


def offer_modules(environ: MutableMapping[str, str], init: Path | None) -> None:
    """Let every bash of the session have `module` and `ml`, as login shells of the site have.

    Args:
        environ: What the session inherits.
        init: The shell script that defines them on this node, or None.
    """
    if init is None:
        return
    for name in ("module", "ml"):
        function = _MODULE.format(init=shlex.quote(str(init)), name=name)
        # A prologue of the site may have defined it already.
        environ.setdefault(f"BASH_FUNC_{name}%%", function)


def terminal_shell(shell: str) -> list[str] | None:
    """Return the command of a terminal, so that `dsportal` is found after the shell's login.

    It is None for an unknown shell, which starts as it always does.
    """
    if os.path.basename(shell) not in _SHELLS:
        return None
    # This word becomes $0, the shell that `exec` starts once the login has set PATH.
    argv = [shell, "-l", "-c", _AFTER_LOGIN, shell]
    return [*argv, "--rcfile", str(_BASHRC)] if os.path.basename(shell) == "bash" else argv


def equip_terminals(serverapp: Any) -> None:
    """Have the terminals of a notebook server, `serverapp`, start with the portal's commands."""
    terminals = serverapp.web_app.settings.get("terminal_manager")
    shell = terminal_shell(os.environ.get("SHELL", ""))
    # A shell that the site's configuration names stays.
    is_chosen = "shell_command" in serverapp.terminado_settings
    if terminals is not None and shell and VARIABLE in os.environ and not is_chosen:
        terminals.shell_command = shell
