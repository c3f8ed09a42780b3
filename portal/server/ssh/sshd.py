"""What sshd is told: its settings, its keys, and what a login of the session is like."""

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsportal.slurm.errors import PortalError
from portal.server.base.commands import terminal_shell

# Where distributions put it; a user's PATH seldom has these folders.
SBIN = "/usr/sbin:/usr/local/sbin:/sbin"
_SFTP_SERVERS = (
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/lib/ssh/sftp-server",
    "/usr/libexec/sftp-server",
)
LOGIN_PROGRAM = Path(__file__).with_name("forced_command.py")
# Two words, so no option of authorized_keys(5) can stand in front of them.
_PUBLIC_KEY = re.compile(r"[a-z0-9@.-]{1,60} [A-Za-z0-9+/]{40,4000}={0,2}", re.ASCII)
# As the site's tools do not get them either: what is started here can do without the hub.
_TOKENS = ("JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN", "JUPYTER_TOKEN")


class SshError(PortalError):
    """The session cannot be reached over ssh; the text says why."""

    http_status = 503


class SshLimitError(SshError):
    """The session already has as many connections as it may have."""

    http_status = 409


def find_sshd(path: str = SBIN) -> str:
    """Return the path of sshd, which has to be absolute."""
    program = shutil.which("sshd", path=path)
    if program is None:
        raise SshError(
            "This node has no sshd, so no editor can connect to the session over ssh. Ask the "
            "administrators to install openssh-server on the compute nodes. Until then use "
            "JupyterLab and its terminals."
        )
    return program


def check_public_key(text: object) -> str:
    """Return the public key in `text`, one line of OpenSSH's, without its comment."""
    words = text.split(" ") if isinstance(text, str) else []
    key = " ".join(words[:2])
    if not _PUBLIC_KEY.fullmatch(key):
        raise SshError("No public key came with the request. Run 'dsportal setup' again.")
    return key


def describe_login(
    environ: Mapping[str, str], *, ends_s: float | None, terminals_dir: Path
) -> dict[str, Any]:
    """Return what `forced_command` finds in its file, in a session with these variables."""
    shell = environ.get("SHELL", "") or "/bin/sh"
    return {
        "environ": {name: value for name, value in environ.items() if name not in _TOKENS},
        "shell": shell,
        # Program and arguments of an interactive login.
        "terminal": terminal_shell(shell) or [shell, "-l"],
        # As Unix time; None if it is not known.
        "ends_s": ends_s,
        # In which interactive logins are listed.
        "terminals_dir": str(terminals_dir),
    }


def sshd_config(
    *,
    host_key: Path,
    authorized_keys: Path,
    login_argv: tuple[str, ...],
    sftp_server: str,
    forwards_ports: bool,
) -> str:
    """Return the settings of sshd for a connection of the user's own.

    There is no TCP port: sshd speaks on its standard input. Forwarding leads where a shell of the
    session leads, and opens no port on the node. PermitOpen would shut out unix sockets, too.

    Args:
        authorized_keys: The one key that may log in.
        login_argv: Program and arguments of every login.
        sftp_server: Path of sftp-server(8); empty if this node has none.
        forwards_ports: Whether `ssh -L` may lead to TCP ports; it may to unix sockets.

    Source:
        sshd_config(5), OpenSSH 9.2.
    """
    lines = [
        f"HostKey {_quoted(host_key)}",
        # sshd replaces tokens such as %h in it.
        f"AuthorizedKeysFile {_quoted(authorized_keys).replace('%', '%%')}",
        "AuthenticationMethods publickey",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        # It would refuse /tmp, which is everybody's; our folder in it is the user's alone.
        "StrictModes no",
        "PidFile none",
        "PrintMotd no",
        "PrintLastLog no",
        "UseDNS no",
        "LogLevel ERROR",
        "LoginGraceTime 30",
        "PermitUserEnvironment no",
        "PermitTunnel no",
        "X11Forwarding no",
        "GatewayPorts no",
        f"AllowTcpForwarding {'local' if forwards_ports else 'no'}",
        "AllowStreamLocalForwarding yes",
        "StreamLocalBindMask 0177",
        f"ForceCommand {shlex.join(login_argv)}",
    ]
    if sftp_server:
        lines.append(f"Subsystem sftp {sftp_server}")
    return "\n".join([*lines, ""])


def find_sftp_server() -> str:
    """Return the path of sftp-server(8), or an empty text."""
    return next((path for path in _SFTP_SERVERS if os.access(path, os.X_OK)), "")


def _quoted(path: Path) -> str:
    return f'"{path}"'
