"""What guests of sessions may do: kept beside JupyterHub's shares, which know no documents.

A share opens the door of a session, a grant says what for. Without a grant a guest may do nothing,
so a file that is lost lets nobody in.
"""

import functools
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from spawner.json_file import JsonFile

MOST_DOCUMENT_CHARACTERS = 1000
# Of one session; a group needs one.
MOST_GRANTS = 100


class ShareKind(Enum):
    """With whom a session is shared."""

    USER = "user"
    GROUP = "group"


class May(Enum):
    """What a guest may do."""

    WORK = "work"
    """All that the owner may."""
    READ = "read"
    """Read notebooks, and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One permission of a guest, or of the members of a group.

    Attributes:
        document: The one notebook that may be read, as a path in the session; empty for all that
            are open.
    """

    kind: ShareKind
    name: str
    may: May
    document: str = ""

    @property
    def words(self) -> str:
        """How pages name the guest."""
        return self.name if self.kind is ShareKind.USER else f"group {self.name}"

    @property
    def may_words(self) -> str:
        """What the guest may do, as the owner reads it."""
        if self.may is May.WORK:
            return "works as you"
        return f"reads {self.document}" if self.document else "reads the notebooks that you open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What one guest may do by all grants together.

    Attributes:
        reads_open: All notebooks that are open may be read.
        documents: These may be read, open or not.
    """

    may_work: bool = False
    reads_open: bool = False
    documents: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as the session reads it."""
        return asdict(self)


def clean_document(text: str) -> str:
    """Return the path of a notebook, or an empty text for anything else."""
    path = text.strip().lstrip("/")
    is_plain = path.isprintable() and len(path) <= MOST_DOCUMENT_CHARACTERS and "\\" not in path
    parts = path.split("/")
    is_inside = all(part and not part.startswith(".") for part in parts)
    return path if is_plain and is_inside and path.endswith(".ipynb") else ""


class Grants:
    """The grants of all running sessions.

    Args:
        path: In a folder that only the hub can write; None keeps them in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._file = JsonFile(path)
        self._of = {session: _parse_grants(saved) for session, saved in self._file.read().items()}

    def begin(self, session: str) -> None:
        """Note that a session starts, without grants, whose server asks for them."""
        self._of[session] = ()
        self._save()

    def knows(self, session: str) -> bool:
        """Return whether the server of a session asks for grants.

        One that an earlier release started lets every guest do everything.
        """
        return session in self._of

    def of(self, session: str) -> tuple[Grant, ...]:
        """Return the grants of a session, in the order in which they were given."""
        return self._of.get(session, ())

    def give(self, session: str, grant: Grant) -> bool:
        """Keep a grant; return whether there was room for it."""
        given = self.of(session)
        if grant in given:
            return True
        if len(given) >= MOST_GRANTS:
            return False
        self._of[session] = (*given, grant)
        self._save()
        return True

    def end(self, session: str, grant: Grant) -> bool:
        """Forget a grant; return whether its guest has none left."""
        if grant in self.of(session):
            self._of[session] = tuple(one for one in self.of(session) if one != grant)
            self._save()
        return not any((one.kind, one.name) == (grant.kind, grant.name) for one in self.of(session))

    def end_all(self, session: str) -> None:
        """Forget all grants of a session."""
        if self._of.pop(session, None) is not None:
            self._save()

    def rights(self, session: str, user: str, groups: frozenset[str]) -> Rights:
        """Return what a user in these groups may do in a session."""
        held = [
            one
            for one in self.of(session)
            if (one.name == user if one.kind is ShareKind.USER else one.name in groups)
        ]
        reads = [one for one in held if one.may is May.READ]
        return Rights(
            may_work=any(one.may is May.WORK for one in held),
            reads_open=any(not one.document for one in reads),
            documents=tuple(sorted({one.document for one in reads if one.document})),
        )

    def close(self) -> None:
        """Wait until everything is written."""
        self._file.close()

    def _save(self) -> None:
        self._file.save(
            {
                session: [
                    {"kind": one.kind.value, "may": one.may.value}
                    | {"name": one.name, "document": one.document}
                    for one in grants
                ]
                for session, grants in self._of.items()
            }
        )


# With one object for each handler, the last to save would lose what the others gave.
@functools.lru_cache(maxsize=8)
def shared_grants(path: Path) -> Grants:
    """Return the grants kept in a file, the same object for every handler."""
    return Grants(path)


def session_key(owner: str, server_name: str) -> str:
    """Return how a session is named here."""
    return f"{owner}/{server_name}"


def _parse_grants(saved: Any) -> tuple[Grant, ...]:
    try:
        return tuple(
            Grant(
                kind=ShareKind(one["kind"]),
                name=str(one["name"]),
                may=May(one["may"]),
                document=str(one["document"]),
            )
            for one in saved
        )
    except (TypeError, KeyError, ValueError):
        # A damaged file lets nobody in; the owner shares again.
        return ()
