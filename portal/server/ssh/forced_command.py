"""What sshd starts for every login: the session's environment, then the shell or the command.

    forced_command.py FILE

Needs only the standard library, and nothing of this package: sshd gives it an empty environment.
FILE is JSON of `portal.server.ssh.sshd.describe_login`.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

# What sshd says of this one login; all else is the session's.
_OF_THE_LOGIN = ("SSH_AUTH_SOCK", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "TERM")
_COMMAND = "SSH_ORIGINAL_COMMAND"


def main() -> None:
    """Become the shell, or the command that was asked for."""
    login = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    command = os.environ.get(_COMMAND)
    environ = login_environment(login["environ"], os.environ)
    if command is not None:
        # As sshd itself would start it; sftp is a command, too.
        os.execve(login["shell"], [login["shell"], "-c", command], environ)  # noqa: S606
    if sys.stdin.isatty():
        _list_terminal(Path(login["terminals_dir"]))
        print(greeting(login["ends_s"], time.time()), flush=True)
    os.execve(login["terminal"][0], login["terminal"], environ)  # noqa: S606


def login_environment(session: Mapping[str, str], sshd: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a login: the session's, and sshd's own about the connection."""
    return {**session, **{name: sshd[name] for name in _OF_THE_LOGIN if name in sshd}}


def greeting(ends_s: float | None, now_s: float) -> str:
    """Return the line that a terminal shows first.

    Args:
        ends_s: When the session ends, as Unix time; None if that is not known.
    """
    if ends_s is None:
        return "You are in your session. This connection ends with it."
    hours, minutes = divmod(max(0, int(ends_s - now_s)) // 60, 60)
    parts = (f"{hours} h" if hours else "", f"{minutes} min" if minutes or not hours else "")
    left = " ".join(filter(None, parts))
    return f"You are in your session, which ends in {left}, and this connection with it."


def _list_terminal(folder: Path) -> None:
    """Let the session write its warnings to this terminal."""
    try:
        # The process keeps its id when it becomes the shell.
        (folder / str(os.getpid())).write_text(os.ttyname(0), encoding="utf-8")
    except OSError:
        # Without a warning the terminal still works.
        return


if __name__ == "__main__":
    main()
