"""OpenSSH's own programs for the host of a session: ssh and scp."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from .host import LaptopError, home_of


def run_ssh(name: str, words: Sequence[str]) -> int:
    """Run a command in the session of a host, or without `words` a shell.

    Returns:
        The exit status of ssh.
    """
    return _run(name, ["ssh", name, *words])


def copy(name: str, paths: Sequence[str]) -> int:
    """Copy files and folders from all but the last of `paths` to it.

    A path that begins with a colon is in the session.

    Returns:
        The exit status of scp.
    """
    given = [f"{name}{path}" if path.startswith(":") else path for path in paths]
    return _run(name, ["scp", "-r", "--", *given])


def require_key(name: str) -> None:
    """Raise an error unless a host has been set up for ssh."""
    if not (home_of(name) / "key").exists():
        raise LaptopError(f"The host {name} is not set up for ssh. Run: dsportal setup")


def _run(name: str, argv: Sequence[str]) -> int:
    require_key(name)
    # The file that `setup` writes: ssh by itself looks in the home of the account, not in $HOME.
    config = str(Path.home() / ".ssh/config")
    try:
        return subprocess.run([argv[0], "-F", config, *argv[1:]], check=False).returncode
    except OSError as error:
        raise LaptopError(
            f"{argv[0]} does not start ({error}). Install OpenSSH's client."
        ) from error
