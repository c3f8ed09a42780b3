"""A full disk: notebooks stay readable, and a save or a start that fails says what to do.

Jupyter notes at each reading of a notebook when its signature was last seen, in a database in the
home. If that fails it answers 500, and after a failed save it replaces the database by an empty
one.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from jupyter_server.services.kernels.handlers import KernelActionHandler, MainKernelHandler
from jupyter_server.services.sessions.handlers import SessionRootHandler
from nbformat.sign import SQLiteSignatureStore
from tornado.web import HTTPError

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


def keep_readable(contents: Any) -> None:
    """Let notebooks be read, and say in a sentence why one cannot be saved.

    Args:
        contents: Jupyter's contents manager, changed in place.
    """
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
    if asyncio.iscoroutinefunction(contents.save):
        contents.save = _explained(contents.save)


def explain_kernel_starts(folder: Path) -> None:
    """Say in a sentence why no kernel starts while the disk of `folder` is full.

    `folder` is where the connection files of kernels are.
    """
    for handler in (MainKernelHandler, KernelActionHandler, SessionRootHandler):
        handler.write_error = _told_as_full(handler.write_error, folder)


def describe_full(path: str) -> str:
    """Return what to do about a file that could not be saved; `path` is Jupyter's."""
    return (
        f"{PurePosixPath(path).name} could not be saved: the disk of its folder is full. What you"
        " see is not lost while this page is open. Delete what you no longer need in the file"
        " browser, or in a terminal with rm: there is no trash, so the space is free at once."
        " 'du -sh ~/* ~/.[!.]*' shows what is large, often ~/.cache. Then save again."
    )


def _explained(original: Any) -> Any:
    async def save(model: dict[str, Any], path: str = "") -> Any:
        try:
            return await original(model, path)
        except (HTTPError, OSError) as error:
            if any(isinstance(cause, IsADirectoryError) for cause in _causes(error)):
                where = f"{path} is" if path.strip("/") else "This is"
                raise HTTPError(400, f"{where} a folder. Save to a file in it.") from error
            if not any(_is_full(cause) for cause in _causes(error)):
                raise
            raise HTTPError(507, describe_full(path), reason="Insufficient Storage") from error

    return save


def _told_as_full(original: Any, folder: Path) -> Any:
    @functools.wraps(original)
    def write_error(self: Any, status_code: int, **kwargs: Any) -> None:
        error = (kwargs.get("exc_info") or (None, None))[1]
        if any(_is_full(cause) for cause in _causes(error)):
            status_code = 507
            self.set_status(status_code, "Insufficient Storage")
            kwargs["exc_info"] = (None, HTTPError(status_code, _describe_no_kernel(folder)), None)
        original(self, status_code, **kwargs)

    return write_error


def _describe_no_kernel(folder: Path) -> str:
    mount = next(path for path in (folder, *folder.parents) if path.is_mount())
    # Where it is no disk of its own, people still know it as /tmp.
    where = mount if mount != Path("/") else Path("/", *folder.parts[1:2])
    node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    return (
        f"{where} of {node} is full, so no kernel can start. Delete there what is yours and no"
        f" longer needed; 'find {where} -user $USER' shows it. If that is not enough, tell the"
        " administrators, and start a session on another node."
    )


def _is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _FULL


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
