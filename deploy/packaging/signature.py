"""Checksums of the files of a release, signed with a key of whoever releases it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deploy.common.errors import DeployError

SUMS = "SHA256SUMS"
# What ssh-keygen wants to be told a signature is for; "file" is its manual's own word.
NAMESPACE = "file"


@dataclass(frozen=True, slots=True)
class Key:
    """A key that can sign a file.

    Attributes:
        command: Writes the signature of the file that follows beside it.
        suffix: What the name of the signature ends in.
    """

    command: tuple[str, ...]
    suffix: str


def gpg_key(name: str) -> Key:
    """Return a key of gpg's own keyring, by its fingerprint or mail address."""
    words = ("--yes", "--armor", "--local-user", name, "--detach-sign")
    return Key(("gpg", *words), ".asc")


def ssh_key(path: str) -> Key:
    """Return a key of OpenSSH: the private one, or the public one if ssh-agent holds that."""
    words = ("-Y", "sign", "-f", str(Path(path).absolute()), "-n", NAMESPACE)
    return Key(("ssh-keygen", *words), ".sig")


def write_sums(folder: Path) -> Path:
    """Write the checksums of all files of a folder, in the form that `sha256sum --check` reads."""
    names = sorted(path.name for path in folder.iterdir() if path.name != SUMS)
    done = subprocess.run(["sha256sum", *names], cwd=folder, check=True, stdout=subprocess.PIPE)
    (folder / SUMS).write_bytes(done.stdout)
    return folder / SUMS


def sign(path: Path, key: Key) -> Path:
    """Sign a file; return the signature.

    The key's program may ask for a passphrase on the terminal.
    """
    signature = path.with_name(path.name + key.suffix)
    signature.unlink(missing_ok=True)
    command = [*key.command, str(path)]
    try:
        # With this process's own environment, which leads to the keyring and to the agent.
        done = subprocess.run(command, env=os.environ, check=False)
    except OSError as error:
        raise DeployError(
            f"{command[0]} could not be started: {error.strerror}.", f"Install {command[0]}."
        ) from error
    if done.returncode != 0 or not signature.exists():
        raise DeployError(
            f"{path.name} was not signed: '{' '.join(command)}' ended with {done.returncode}.",
            "Name a key that this account may use.",
        )
    return signature
