"""Where each user's messages go: what the directory says, and what the user has chosen."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from spawner.json_file import JsonFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Those of one user; each is empty if there is none.

    Attributes:
        mail: The user's own choice.
        directory: That of the user's entry in LDAP, as of the last login.
        chat: apprise's, a secret as a rule.
    """

    mail: str = ""
    directory: str = ""
    chat: str = ""

    @classmethod
    def from_state(cls, state: Any) -> Addresses:
        """Return those that `state`, JSON values, holds."""
        texts = state if isinstance(state, Mapping) else {}
        known = {name: texts.get(name) for name in cls.__slots__}
        return cls(**{name: text for name, text in known.items() if isinstance(text, str)})


class AddressBook:
    """The addresses of all users.

    Args:
        path: In a folder that only the hub reads; None for memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._file = JsonFile(path)
        self._known = {
            user: Addresses.from_state(state) for user, state in self._file.read().items()
        }

    def of(self, user: str) -> Addresses:
        """Return the addresses of a user."""
        return self._known.get(user, Addresses())

    def change(self, user: str, **texts: str) -> None:
        """Keep other addresses, by the names of `Addresses`."""
        self._keep(user, replace(self.of(user), **texts))

    def forget(self, user: str) -> None:
        """Keep nothing of somebody who has left."""
        self._keep(user, Addresses())

    def _keep(self, user: str, addresses: Addresses) -> None:
        # Each login tells the directory's again.
        if addresses == self.of(user):
            return
        self._known[user] = addresses
        if addresses == Addresses():
            del self._known[user]
        self._file.save({name: asdict(each) for name, each in self._known.items()})


@functools.cache
def shared_addresses(path: Path) -> AddressBook:
    """Return the one book of a hub."""
    return AddressBook(path)
