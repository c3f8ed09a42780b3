"""Adds storage to a program's page, so that it works in a browser's sandbox.

There it has no cookies and no storage, and accessing them is an error, at which Dash, for one,
stops. The page gets replacements that last as long as it is shown.
"""

import re
from collections.abc import AsyncIterator
from pathlib import Path

_HEAD = re.compile(rb"<head(?:\s[^>]*)?>", re.IGNORECASE)
_SCRIPT = Path(__file__).with_name("pages").joinpath("sandbox.js").read_bytes()
# Pages for people have their head before this.
_LOOKED_AT_BYTES = 64 * 1024


async def with_storage(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a page, not compressed, with the script added to its head; unchanged if it has none."""
    begin = b""
    is_looking = True
    async for chunk in chunks:
        if not is_looking:
            yield chunk
            continue
        # The tag may be cut by the end of a chunk.
        begin += chunk
        if head := _HEAD.search(begin):
            yield begin[: head.end()] + b"<script>" + _SCRIPT + b"</script>" + begin[head.end() :]
            is_looking = False
        elif len(begin) > _LOOKED_AT_BYTES:
            yield begin
            is_looking = False
    if is_looking:
        yield begin
