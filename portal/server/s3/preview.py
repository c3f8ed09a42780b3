"""Previews of files in S3, which are read as files of this node for that long."""

import tempfile
from pathlib import Path

from portal.server.base.preview import Preview, PreviewError, check_kind, preview
from portal.server.s3.errors import S3NotFoundError
from portal.server.s3.store import Store

_MIB = 1024 * 1024
# Whoever looks at a file waits for all of it.
_MOST_BYTES = 512 * _MIB


def preview_object(store: Store, bucket: str, key: str) -> Preview:
    """Return what is in a file of S3."""
    entry = store.look(bucket, key) if key else None
    if entry is None:
        raise S3NotFoundError("This file no longer exists. Reload the list.")
    check_kind(entry.name)
    if (entry.size_bytes or 0) > _MOST_BYTES:
        raise PreviewError(
            f"{entry.name} has {(entry.size_bytes or 0) // _MIB} MiB, and files of S3 with up to"
            f" {_MOST_BYTES // _MIB} MiB have a preview. Download it, or read it in a cell."
        )
    with tempfile.TemporaryDirectory(prefix="s3-preview-") as folder:
        path = Path(folder, entry.name)
        pieces = store.pieces(bucket, key, _MIB)
        try:
            with path.open("xb") as file:
                for piece in pieces:
                    file.write(piece)
        # Those of the connection are S3Error.
        except OSError as error:
            raise PreviewError(
                f"{entry.name} has no preview now: it cannot be kept in {tempfile.gettempdir()}"
                f" ({error.strerror}). Download it, or read it in a cell."
            ) from error
        finally:
            pieces.close()
        return preview(path)
