"""One file that is uploaded in chunks, into a part beside its later place; it can be resumed."""

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from dsportal.slurm.errors import PortalError
from portal.server.base.chunks import UploadError

MIB = 1024 * 1024
_OPEN_PART = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPart:
    """What another file of the same name, or an earlier state of it, has left unfinished."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadState:
    """What is there of an upload.

    Attributes:
        offset: Bytes that have arrived, from the start of the file. Of a part that is complete and
            did not get its name, such as in a session that was killed, the last byte is missing:
            with it the part gets its name.
    """

    offset: int
    is_taken: bool
    other_parts: tuple[OtherPart, ...]


class Upload:
    """One file on its way to `target`.

    Args:
        target: Its later place, in a folder that is there.
        modified_ms: When the user's computer last changed it. A file of the same name and size and
            with the same time is taken to be the same one.
    """

    def __init__(self, target: Path, size_bytes: int, modified_ms: int) -> None:
        self.target = target
        self._size_bytes = size_bytes
        mark = hashlib.sha256(f"{size_bytes} {modified_ms}".encode()).hexdigest()[:8]
        self.part = target.with_name(f"{target.name}.{mark}.part")

    def state(self) -> UploadState:
        """Return what is there."""
        try:
            names = sorted(os.listdir(self.target.parent))
        except OSError as error:
            raise UploadError(_refusal(self.target, error)) from error
        others = [name for name in names if self._is_other_part(name)]
        return UploadState(
            offset=self._arrived(_size(self.part)),
            is_taken=self.target.name in names,
            other_parts=tuple(
                OtherPart(name=name, size_bytes=_size(self.target.with_name(name)))
                for name in others
            ),
        )

    def write(self, offset: int, chunk: bytes, *, replaces: bool) -> int:
        """Write the next bytes; after the last ones the part gets its name.

        Args:
            offset: Must be the number of bytes that have arrived.
            replaces: Whether a file of this name is replaced at the end.

        Returns:
            How many bytes have arrived now.
        """
        if not replaces and os.path.lexists(self.target):
            raise PortalError(
                f"{self.target.name} is in this folder already. Upload it again and choose to "
                "replace it, or rename one of the two.",
                http_status=412,
            )
        try:
            self._append(offset, chunk)
            if offset + len(chunk) == self._size_bytes:
                os.replace(self.part, self.target)
        except OSError as error:
            if error.errno in _FULL:
                raise PortalError(self._describe_full(offset), http_status=507) from error
            raise UploadError(_refusal(self.target, error)) from error
        return offset + len(chunk)

    def remove(self) -> None:
        """Remove what has arrived."""
        try:
            self.part.unlink(missing_ok=True)
        except OSError as error:
            raise UploadError(_refusal(self.part, error)) from error

    def _append(self, offset: int, chunk: bytes) -> None:
        try:
            # Nobody else may read half a file.
            descriptor = os.open(self.part, _OPEN_PART | (0 if offset else os.O_CREAT), 0o600)
        except FileNotFoundError as error:
            raise self._conflict(0, offset, chunk) from error
        try:
            found = os.fstat(descriptor)
            # In a folder that is shared, a neighbour may have laid it there, to read or change what
            # arrives, or as a second name of another file of the user's.
            is_own = found.st_uid == os.geteuid() and found.st_nlink == 1
            if not (is_own and stat.S_ISREG(found.st_mode)):
                raise UploadError(
                    f"{self.part.name} is not a file of yours alone. Delete it, or upload into "
                    "another folder."
                )
            is_last = offset + len(chunk) == self._size_bytes
            here = self._arrived(found.st_size)
            if here != offset or offset + len(chunk) > self._size_bytes:
                raise self._conflict(here, offset, chunk)
            try:
                _write_all(descriptor, chunk, offset)
                if is_last:
                    # NFS tells of a full disk or quota only now.
                    os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, offset)
                raise
            if is_last:
                os.fchmod(descriptor, 0o666 & ~_umask())
        finally:
            os.close(descriptor)

    def _conflict(self, here: int, offset: int, chunk: bytes) -> PortalError:
        return PortalError(
            f"{here} bytes of {self.target.name} have arrived, and its size was given as "
            f"{self._size_bytes}: bytes {offset} to {offset + len(chunk)} do not follow. "
            "Upload the file again: it continues where it was.",
            http_status=409,
        )

    def _arrived(self, n_bytes: int) -> int:
        # Without its last byte the browser would take a part that never got its name for finished.
        return min(n_bytes, max(0, self._size_bytes - 1))

    def _is_other_part(self, name: str) -> bool:
        prefix, suffix = f"{self.target.name}.", ".part"
        mark = name[len(prefix) : -len(suffix)]
        is_part = name.startswith(prefix) and name.endswith(suffix) and len(mark) == 8
        return is_part and name != self.part.name

    def _describe_full(self, offset: int) -> str:
        left_mib = -(-(self._size_bytes - offset) // MIB)
        return (
            f"{self.target.name} does not fit: the disk of its folder, or your quota there, is "
            f"full, and {left_mib} MiB are still missing. Delete what you no longer need, "
            "and upload the file again: it continues where it was. "
            f"{self.part.name} holds what has arrived. Delete it to give up."
        )


def _write_all(descriptor: int, chunk: bytes, offset: int) -> None:
    view = memoryview(chunk)
    while view:
        n_written = os.pwrite(descriptor, view, offset)
        offset, view = offset + n_written, view[n_written:]


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _umask() -> int:
    # os.umask can only be read by changing it, for all threads.
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "Umask":
            return int(value, 8)
    return 0o077


def _refusal(path: Path, error: OSError) -> str:
    return (
        f"{path.name} cannot be written to this folder: {error.strerror}. Choose another folder, "
        "or ask its owner."
    )
