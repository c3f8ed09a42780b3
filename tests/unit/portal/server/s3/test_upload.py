"""An upload to S3, with a store that is held up by the test."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from portal.server.s3 import upload as module
from portal.server.s3.errors import S3Error, S3SilentError
from portal.server.s3.upload import S3Upload
from tests.support.eventually import eventually


class SlowStore:
    """Takes all bytes at once, and says that it has the file when the test lets it."""

    def __init__(self) -> None:
        self.has_read = threading.Event()
        self.may_answer = threading.Event()
        self.refusal: Exception | None = None

    def write(self, bucket: str, key: str, source: Any, size_bytes: int, part_bytes: int) -> None:
        """Read it all, as `Store.write`."""
        n_bytes = 0
        while n_bytes < size_bytes:
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
