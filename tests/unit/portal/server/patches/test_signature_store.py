"""Which notebooks are trusted while their signatures cannot be saved or read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.server.patches.signature_store import PatientSignatureStore


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
