"""Puts the commands of sessions into terminals, cells and submitted jobs: `dsportal`, `module`."""

import os
import shlex
import shutil
from collections.abc import MutableMapping
from pathlib import Path

from jupyter_server.serverapp import ServerApp

VARIABLE = "PORTAL_COMMANDS"
# The account's shell, if this node does not have it.
MISSING = "PORTAL_MISSING_SHELL"
# Shells that understand the line below, and whose login may overwrite PATH, as /etc/profile does.
_SHELLS = frozenset({"bash", "dash", "ksh", "sh", "zsh"})
_AFTER_LOGIN = (
    f'PATH="${{{VARIABLE}:+${VARIABLE}:}}$PATH"; export PATH; '
    f'[ -z "${MISSING}" ] || echo "Your login shell, ${MISSING}, is not on this node: this is'
    ' ${0##*/}."; exec "$0" "$@"'
)
# A startup file may end the shell, and then the terminal would close with its last words. A shell
# that has read them all removes the file of this variable. One that runs on is of another program,
# which a startup file has put in its place.
_SHORTEST_S = 3
_STARTING = "PORTAL_SHELL_STARTS"
GUARDED = f"""export {_STARTING}=$(mktemp); began=$(date +%s); "$@"; status=$?
[ -t 0 ] && [ -e "${_STARTING}" ] && [ $(($(date +%s) - began)) -lt {_SHORTEST_S} ] || exit $status
rm -f "${_STARTING}"
echo "A startup file of yours ended the shell (status $status), such as ~/.bashrc or"
echo "~/.bash_profile. This shell reads none of them."
PS1='$ ' exec "$0" """
_STARTED = f'rm -f "${_STARTING}"; unset {_STARTING}; '
_BARE = {"bash": "--noprofile --norc -i", "zsh": "-f -i"}
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


def replace_missing_shell(environ: MutableMapping[str, str]) -> None:
    """Give a session bash, or sh, if the account's shell is not on this node."""
    shell = environ.get("SHELL", "")
    if shell and shutil.which(shell) is None:
        environ[MISSING] = shell
        environ["SHELL"] = shutil.which("bash") or "/bin/sh"


def terminal_shell(shell: str) -> list[str] | None:
    """Return the command of a terminal, so that `dsportal` is found after the shell's login.

    It is None for an unknown shell, which starts as it always does.
    """
    name = os.path.basename(shell)
    if name not in _SHELLS:
        return None
    # This word becomes $0, the shell that `exec` starts once the login has set PATH.
    # bash says so itself, at the end of the file that it reads next.
    after = _AFTER_LOGIN if name == "bash" else _STARTED + _AFTER_LOGIN
    argv = [shell, "-l", "-c", after, shell]
    own = [*argv, "--rcfile", str(_BASHRC)] if name == "bash" else argv
    return ["/bin/sh", "-c", f"{GUARDED}{_BARE.get(name, '-i')}", shell, *own]


def equip_terminals(serverapp: ServerApp) -> None:
    """Have the terminals of a notebook server, `serverapp`, start with the portal's commands."""
    terminals = serverapp.web_app.settings.get("terminal_manager")
    shell = terminal_shell(os.environ.get("SHELL", ""))
    # A shell that the site's or the user's configuration names stays, if it is there.
    chosen = serverapp.terminado_settings.get("shell_command", [""])
    is_chosen = shutil.which(chosen[0]) is not None
    if terminals is not None and shell and not is_chosen:
        terminals.shell_command = shell
