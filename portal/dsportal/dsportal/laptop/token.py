"""Where a token is kept: in the keyring of this machine, or in a file that only its owner reads."""

from __future__ import annotations

import contextlib
from typing import Any

from .host import Host, LaptopError, home_of, write_private

_SERVICE = "dsportal"
# Others, as those of keyrings.alt, write plain text.
_LEAST_PRIORITY = 1


def keep_in_file(host: Host, token: str) -> None:
    """Keep a token where ssh finds it, also while the keyring is locked."""
    write_private(home_of(host.name) / "token", token + "\n")


def keep_in_keyring(host: Host, token: str) -> bool:
    """Keep a token in the keyring, and in no file.

    Returns:
        False if there is no keyring that keeps it.
    """
    keyring = _keyring()
    # Backends raise errors of the libraries that they call.
    with contextlib.suppress(Exception):
        if keyring is not None and keyring.get_keyring().priority >= _LEAST_PRIORITY:
            keyring.set_password(_SERVICE, _entry(host), token)
            if keyring.get_password(_SERVICE, _entry(host)) == token:
                (home_of(host.name) / "token").unlink(missing_ok=True)
                return True
    return False


def read_token(host: Host) -> str:
    """Return the token of a host.

    Raises:
        FileNotFoundError: If none is kept.
        LaptopError: If the keyring does not give it.
    """
    if not host.is_in_keyring:
        return (home_of(host.name) / "token").read_text(encoding="ascii").strip()
    keyring, token = _keyring(), None
    if keyring is not None:
        with contextlib.suppress(Exception):
            token = keyring.get_password(_SERVICE, _entry(host))
    if not token:
        raise LaptopError(
            "The keyring of this machine does not give the token. Unlock it, or keep the token in "
            f"a file: dsportal login --keep file {host.url}"
        )
    return str(token)


def _entry(host: Host) -> str:
    return f"{host.name} {host.url}"


def _keyring() -> Any:
    try:
        import keyring
    except ImportError:
        return None
    return keyring
