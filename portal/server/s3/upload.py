"""One file that is uploaded in chunks and passed on to S3 in parts, while this server runs."""

import socket
import threading
from contextlib import suppress
from typing import Any

from dsportal.slurm.errors import PortalError
from portal.server.s3.errors import S3Error, S3SilentError
from portal.server.s3.store import Store

MIB = 1024 * 1024
# S3 takes at most 10,000 parts, each but the last of at least 5 MiB.
_LEAST_PART_BYTES = 8 * MIB
_MOST_PARTS = 10_000
# An upload whose page is gone; what S3 has of it is then removed there.
_PATIENCE_S = 3600.0
# The browser asks again after 30.
_PATIENCE_WITH_S3_S = 20.0


class GivenUpError(Exception):
    """The user has cancelled the upload, or nothing has come for an hour."""


class S3Upload:
    """One file on its way to S3. A thread of its own reads what `feed` is given."""

    def __init__(self, store: Store, bucket: str, key: str, size_bytes: int) -> None:
        self._store = store
        self._bucket = bucket
        self._key = key
        self._size_bytes = size_bytes
        # What S3 has not taken holds the browser up, so that an upload takes little memory.
        self._given, self._taken = socket.socketpair()
        self._taken.settimeout(_PATIENCE_S)
        self._turn = threading.Lock()
        self._error: BaseException | None = None
        self.offset = 0
        self._thread = threading.Thread(target=self._send, name="s3-upload", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, with or without an error."""
        return not self._thread.is_alive()

    @property
    def failed(self) -> bool:
        """Whether it has ended before its end."""
        return self._error is not None

    def arrived(self) -> int:
        """Return how many bytes have arrived; of all, only when S3 has the file."""
        if self.offset == self._size_bytes:
            # Nobody may take a file for uploaded that S3 refuses in its last answer.
            self._thread.join(_PATIENCE_WITH_S3_S)
            if self._error is not None:
                raise self._error
            if not self.is_over:
                raise S3SilentError("S3 has all of the file and still puts its parts together.")
        return self.offset

    def feed(self, offset: int, chunk: bytes) -> int:
        """Take the next bytes; after the last ones, wait until S3 has the file.

        Args:
            offset: Must be the number of bytes that have arrived.

        Returns:
            How many bytes have arrived now.
        """
        with self._turn:
            if offset != self.offset or offset + len(chunk) > self._size_bytes:
                raise PortalError(
                    f"{self.offset} of {self._size_bytes} bytes have arrived: bytes {offset} to"
                    f" {offset + len(chunk)} do not follow.",
                    http_status=409,
                )
            is_taken = False
            # Before they are sent: S3 may have them all at once, and has the file then.
            self.offset += len(chunk)
            # It is closed after an error, which is told below.
            with suppress(OSError):
                self._given.sendall(chunk)
                is_taken = True
        if not is_taken or self.offset == self._size_bytes:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self.offset

    def cancel(self) -> None:
        """Give it up; S3 keeps nothing of it."""
        with suppress(OSError):
            self._given.shutdown(socket.SHUT_RDWR)

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes for S3, `n_bytes` at most."""
        try:
            piece = self._taken.recv(min(n_bytes, MIB))
        except TimeoutError:
            piece = b""
        if not piece:
            raise GivenUpError
        return piece

    def _send(self) -> None:
        try:
            self._store.write(
                self._bucket, self._key, self, self._size_bytes, part_bytes(self._size_bytes)
            )
        except GivenUpError:
            self._error = S3Error("The upload was given up. Upload the file again.")
        # Whatever it was, the user waits for an answer.
        except Exception as error:
            self._error = error
        finally:
            self._taken.close()
            with self._turn:
                self._given.close()


# Bucket, key, size in bytes, and when the user's computer last changed it.
Place = tuple[str, str, int, int]


class S3File:
    """A file whose upload may have begun, as `portal.server.base.chunks` asks for it.

    Args:
        known: The uploads that this server knows.
    """

    def __init__(self, store: Store, known: dict[Place, S3Upload], place: Place) -> None:
        self._store = store
        self._known = known
        self._place = place

    def state(self) -> dict[str, Any]:
        """Return what is there of it; of all bytes, only once S3 has the file."""
        upload = self._upload()
        return {
            "offset": 0 if upload is None else upload.arrived(),
            # A finished upload of this very file is not in its own way.
            "is_taken": upload is None and self._is_taken(),
            "other_parts": [],
        }

    def write(self, offset: int, chunk: bytes, *, replaces: bool) -> int:
        """Take the bytes from `offset` on; the first ones begin the upload.

        Returns:
            How many bytes have arrived now.
        """
        upload = self._upload()
        if upload is None or (offset == 0 and upload.is_over):
            bucket, key, size_bytes, _ = self._place
            if not replaces and self._is_taken():
                name = key.rpartition("/")[2]
                raise S3Error(f"{name} is already in this folder. Rename one of the two.")
            # Those that have ended are known a while: the answer to the last chunk may be lost.
            over = [place for place, other in self._known.items() if other.is_over]
            for place in over[:-8]:
                del self._known[place]
            upload = S3Upload(self._store, bucket, key, size_bytes)
            self._known[self._place] = upload
        return upload.feed(offset, chunk)

    def remove(self) -> None:
        """Give the upload up."""
        upload = self._known.pop(self._place, None)
        if upload is not None:
            upload.cancel()

    def _upload(self) -> S3Upload | None:
        found = self._known.get(self._place)
        return None if found is None or found.failed else found

    def _is_taken(self) -> bool:
        return self._store.look(*self._place[:2]) is not None


def part_bytes(size_bytes: int) -> int:
    """Return the size of the parts of a file of `size_bytes` bytes, in bytes."""
    needed = -(-size_bytes // _MOST_PARTS)
    return max(_LEAST_PART_BYTES, -(-needed // MIB) * MIB)
