"""Checksums of the files of a release, signed with a key of whoever releases it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from deploy.environments.builder.errors import BuildError

SUMS = "SHA256SUMS"
# What ssh-keygen wants to be told a signature is for; "file" is its manual's own word.
NAMESPACE = "file"


class Key(Protocol):
    """A key that can sign a file."""

    @abstractmethod
    def command(self, path: Path) -> Sequence[str | Path]:
        """Return the command that writes the signature of a file beside it."""

    @abstractmethod
    def signature(self, path: Path) -> Path:
        """Return where the signature of a file is."""


@dataclass(frozen=True, slots=True)
class OpenPgpKey:
    """A key of gpg's own keyring.

    Attributes:
        name: Fingerprint or mail address.
    """

    name: str

    def command(self, path: Path) -> Sequence[str | Path]:
        """Return the command that writes the signature of a file beside it."""
        words = ("--yes", "--armor", "--local-user", self.name, "--output", self.signature(path))
        return ("gpg", *words, "--detach-sign", path)

    def signature(self, path: Path) -> Path:
        """Return where the signature of a file is."""
        return path.with_name(f"{path.name}.asc")


@dataclass(frozen=True, slots=True)
class SshKey:
    """A key of OpenSSH.

    Attributes:
        path: The private key, or the public one if ssh-agent holds the private one.
    """

    path: Path

    def command(self, path: Path) -> Sequence[str | Path]:
        """Return the command that writes the signature of a file beside it."""
        return ("ssh-keygen", "-Y", "sign", "-f", self.path, "-n", NAMESPACE, path)

    def signature(self, path: Path) -> Path:
        """Return where the signature of a file is."""
        return path.with_name(f"{path.name}.sig")


def write_sums(folder: Path) -> Path:
    """Write the checksums of all files of a folder, in the form that `sha256sum --check` reads."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    sums = folder / SUMS
    sums.write_text("".join(lines))
    return sums


def sign(path: Path, key: Key) -> Path:
    """Sign a file; return the signature.

    The key's program may ask for a passphrase on the terminal.
    """
    key.signature(path).unlink(missing_ok=True)
    command = [str(word) for word in key.command(path)]
    try:
        # With this process's own environment, which leads to the keyring and to the agent.
        done = subprocess.run(command, env=os.environ, check=False)
    except OSError as error:
        raise BuildError(
            f"{command[0]} could not be started: {error.strerror}.", f"Install {command[0]}."
        ) from error
    if done.returncode != 0 or not key.signature(path).exists():
        raise BuildError(
            f"{path.name} was not signed: '{' '.join(command)}' ended with {done.returncode}.",
            "Name a key that this account may use.",
        )
    return key.signature(path)
