"""Which notebooks are trusted while their signatures cannot be saved or read."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tornado.web import HTTPError

from portal.server import full_disk
from portal.server.full_disk import PatientSignatureStore, describe_full


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PatientSignatureStore]:
    store = PatientSignatureStore(str(tmp_path / "nbsignatures.db"))
    store.store_signature("known", "sha256")
    yield store
    store.close()


def test_a_known_signature_counts_although_its_use_cannot_be_saved(
    store: PatientSignatureStore,
) -> None:
    store.db.execute("PRAGMA query_only = 1")

    assert store.check_signature("known", "sha256")
    assert not store.check_signature("other", "sha256")


def test_a_new_signature_counts_until_the_end_of_the_session(store: PatientSignatureStore) -> None:
    store.db.execute("PRAGMA query_only = 1")
    store.store_signature("new", "sha256")

    assert store.check_signature("new", "sha256")
    assert not store.check_signature("new", "sha512")


def test_what_cannot_be_read_is_not_trusted(store: PatientSignatureStore) -> None:
    store.db.execute("DROP TABLE nbsignatures")

    assert not store.check_signature("known", "sha256")


@pytest.mark.parametrize(
    ("cause", "status"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 507),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), 507),
        (IsADirectoryError(errno.EISDIR, "Is a directory"), 400),
        (PermissionError(errno.EACCES, "Permission denied"), 500),
        (sqlite3.OperationalError("database is locked"), 500),
    ],
)
async def test_a_full_disk_and_a_folder_are_told_and_nothing_else_is(
    cause: Exception, status: int
) -> None:
    async def save(model: dict[str, Any], path: str) -> None:
        raise HTTPError(500, "Unexpected error while saving file") from cause

    with pytest.raises(HTTPError) as caught:
        await full_disk._explained(save)({}, "deep/a.ipynb")

    assert caught.value.status_code == status


def test_the_sentence_names_the_file_and_what_to_do() -> None:
    assert describe_full("deep/a.ipynb").startswith(
        "a.ipynb could not be saved: the disk of its folder is full."
    )
