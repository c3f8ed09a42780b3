"""A host of ssh that stands for a session: its settings, its files, its lines of ~/.ssh/config."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_NAME = "gpu-session"
ARCHIVE = "dsportal.pyz"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class LaptopError(Exception):
    """What cannot be done, and the next step; shown by ssh as it is.

    Attributes:
        exit_code: Of the command.
    """

    exit_code = 1


@dataclass(frozen=True)
class Host:
    """A host of ssh that stands for a session.

    Attributes:
        name: What users write after "ssh".
        url: The portal's address, without a slash at its end.
        session: Name of the session; empty for the one without a name.
        ca_file: Certificates that vouch for the portal; empty for those of the system.
        is_in_keyring: Whether the keyring of this machine keeps the token, in place of a file.
    """

    name: str
    url: str
    session: str = ""
    ca_file: str = ""
    is_in_keyring: bool = False

    def address(self, path: str) -> str:
        """Return the address of a page, from its path without a slash in front."""
        return f"{self.url}/{path}"

    @property
    def tls(self) -> ssl.SSLContext | None:
        """What checks the portal's certificate; None without TLS."""
        if not self.url.startswith("https:"):
            return None
        return ssl.create_default_context(cafile=self.ca_file or None)


def home_of(name: str) -> Path:
    """Return the folder of a host's token, keys and settings.

    Raises:
        LaptopError: If the name could lead elsewhere, also in ~/.ssh/config.
    """
    if not _NAME.fullmatch(name):
        raise LaptopError(f"{name!r} cannot be a host's name: take letters and digits.")
    return Path.home() / ".ssh" / "dsportal" / name


def parse_url(text: str) -> str:
    """Return the portal's address without the path of a page."""
    parts = urlsplit(text.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise LaptopError(f"{text} is no address of a portal. Write it with https:// in front.")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise LaptopError(f"{text} has no TLS: anybody on the way could read your token.")
    path = re.split(r"/(?:hub|user)(?:/|$)", parts.path)[0].rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}"


def stanza(host: Host, user: str, *, command: Sequence[str]) -> str:
    """Return the lines of ~/.ssh/config for a host whose account on the node is `user`.

    `command` starts this program.
    """
    home = home_of(host.name).as_posix()
    start = " ".join(f'"{word}"' for word in command)
    lines = [
        f"User {user}",
        f"ProxyCommand {start} proxy {host.name}",
        f'IdentityFile "{home}/key"',
        "IdentitiesOnly yes",
        "PreferredAuthentications publickey",
        f'UserKnownHostsFile "{home}/known_hosts"',
        f"HostKeyAlias {host.name}",
        "StrictHostKeyChecking yes",
        "UpdateHostKeys no",
        # So that ssh ends when the network is gone; too little to count as use of the session.
        "ServerAliveInterval 30",
    ]
    body = "".join(f"    {line}\n" for line in lines)
    return f"# >>> dsportal {host.name}\nHost {host.name}\n{body}# <<< dsportal {host.name}\n"


def with_stanza(config: str, name: str, text: str) -> str:
    """Return a config of ssh in which `text` stands first, in place of an earlier one of `name`."""
    mark = re.escape(f"dsportal {name}\n")
    rest = re.sub(rf"# >>> {mark}.*?# <<< {mark}\n?", "", config, flags=re.DOTALL)
    # First, since ssh takes the first value that it finds: a "Host *" of the user's own may follow.
    return f"{text}\n{rest}" if rest else text


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, at once or not at all."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    # Several connections at once write the same.
    os.replace(new, path)
