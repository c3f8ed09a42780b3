"""SQLiteSignatureStore: notebooks stay readable on a full disk.

Jupyter notes at each reading of a notebook when its signature was last seen, in a database in the
home. If that fails it answers 500, and after a failed save it replaces the database by an empty
one.

Source:
    nbformat 5.11, `SQLiteSignatureStore.check_signature` and `NotebookNotary`.

Shown by:
    tests/unit/portal/server/patches/test_signature_store.py
    tests/server/test_full_home.py
"""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jupyter_server.services.contents.manager import AsyncContentsManager
from nbformat.sign import SQLiteSignatureStore

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_SECRET_BYTES = 1024


class PatientSignatureStore(SQLiteSignatureStore):
    """Jupyter's signatures of trusted notebooks; what cannot be saved counts for this session."""

    def __init__(self, db_file: str, **kwargs: Any) -> None:
        self._unsaved: set[tuple[str, str]] = set()
        super().__init__(db_file, **kwargs)

    def check_signature(self, digest: str, algorithm: str) -> bool:
        """Return whether a signature is known, although its use may not be saved."""
        try:
            if super().check_signature(digest, algorithm):
                return True
        except sqlite3.OperationalError:
            self.db.rollback()
            if self._reads(digest, algorithm):
                return True
        return (algorithm, digest) in self._unsaved

    def store_signature(self, digest: str, algorithm: str) -> None:
        """Keep a signature."""
        try:
            super().store_signature(digest, algorithm)
        except sqlite3.OperationalError:
            self.db.rollback()
            self._unsaved.add((algorithm, digest))

    def _reads(self, digest: str, algorithm: str) -> bool:
        question = "SELECT id FROM nbsignatures WHERE algorithm = ? AND signature = ?"
        try:
            return self.db.execute(question, (algorithm, digest)).fetchone() is not None
        except sqlite3.OperationalError:
            # What cannot be read is not trusted.
            return False


def keep_readable(contents: AsyncContentsManager) -> None:
    """Let notebooks be read."""
    notary = contents.notary
    try:
        # Made at the first need, and saved in the home.
        _ = notary.secret
    except OSError:
        # An empty file would be taken for the secret.
        with contextlib.suppress(OSError):
            Path(notary.secret_file).unlink()
        notary.secret = os.urandom(_SECRET_BYTES)
    if isinstance(notary.store, SQLiteSignatureStore):
        notary.store.close()
        notary.store_factory = lambda: PatientSignatureStore(notary.db_file, parent=notary)
        notary.store = notary.store_factory()


def is_full(error: BaseException | None) -> bool:
    """Return whether a disk or a quota that is full has caused an error; False for None."""
    return any(isinstance(one, OSError) and one.errno in _FULL for one in causes(error))


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
