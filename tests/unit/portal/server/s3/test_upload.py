"""An upload to S3, with a store that is held up by the test."""

import math
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from dsportal.slurm.errors import PortalError
from portal.server.s3 import upload as module
from portal.server.s3.errors import S3Error, S3SilentError
from portal.server.s3.upload import MIB, S3Upload
from tests.support.eventually import eventually


class SlowStore:
    """Takes all bytes at once, and says that it has the file when the test lets it."""

    def __init__(self) -> None:
        self.has_read = threading.Event()
        self.may_answer = threading.Event()
        self.refusal: Exception | None = None
        self.most_bytes: float = math.inf

    def write(self, bucket: str, key: str, source: Any, size_bytes: int, part_bytes: int) -> None:
        """Read it all, as `Store.write`."""
        n_bytes = 0
        while n_bytes < min(size_bytes, self.most_bytes):
            n_bytes += len(source.read(part_bytes))
        self.has_read.set()
        self.may_answer.wait()
        if self.refusal is not None:
            raise self.refusal


@pytest.fixture
def store() -> Iterator[SlowStore]:
    store = SlowStore()
    yield store
    store.may_answer.set()


def send_without_waiting(store: SlowStore) -> S3Upload:
    """Send all bytes of a file, as a browser whose connection is lost before the answer."""
    upload = S3Upload(store, "lab", "big.bin", 4)  # type: ignore[arg-type]

    def feed() -> None:
        with suppress(S3Error):
            upload.feed(0, b"abcd")

    threading.Thread(target=feed, daemon=True).start()
    assert store.has_read.wait(10)
    return upload


def test_all_bytes_have_arrived_only_when_s3_has_the_file(
    store: SlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_WITH_S3_S", 0.01)
    upload = send_without_waiting(store)

    with pytest.raises(S3SilentError):
        upload.arrived()

    store.may_answer.set()
    eventually(lambda: upload.is_over, timeout_s=10)
    assert upload.arrived() == 4


def test_a_file_that_s3_refuses_in_its_last_answer_has_not_arrived(store: SlowStore) -> None:
    store.refusal = S3Error("One of the parts is too small.")
    upload = send_without_waiting(store)

    store.may_answer.set()

    with pytest.raises(S3Error, match="too small"):
        upload.arrived()


def test_bytes_that_s3_no_longer_takes_are_answered_with_its_error(store: SlowStore) -> None:
    store.refusal = S3Error("The bucket is gone.")
    store.may_answer.set()
    store.most_bytes = 1
    upload = S3Upload(store, "lab", "big.bin", 4 * MIB)  # type: ignore[arg-type]

    with pytest.raises(S3Error, match="bucket is gone"):
        upload.feed(0, bytes(2 * MIB))


def test_an_upload_that_is_given_up_ends(store: SlowStore) -> None:
    store.may_answer.set()
    upload = S3Upload(store, "lab", "big.bin", 4)  # type: ignore[arg-type]
    assert upload.feed(0, b"ab") == 2

    upload.cancel()

    eventually(lambda: upload.is_over, timeout_s=10)
    with pytest.raises(S3Error, match="given up"):
        upload.feed(2, b"c")


def test_the_same_bytes_are_taken_once(store: SlowStore) -> None:
    store.may_answer.set()
    upload = S3Upload(store, "lab", "big.bin", 4)  # type: ignore[arg-type]
    upload.feed(0, b"ab")

    with pytest.raises(PortalError, match="2 of 4 bytes have arrived"):
        upload.feed(0, b"ab")
    upload.cancel()
