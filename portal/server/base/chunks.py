"""What every upload in chunks asks and answers, wherever its bytes go."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError

from dsportal.slurm.errors import PortalError
from portal.server.base.errors import S3Error, UploadError

_MIB = 1024 * 1024
_MOST_CHUNK_BYTES = 64 * _MIB


@dataclass(frozen=True)
class Chunk:
    """Some bytes of a file.

    Attributes:
        offset: How many bytes of the file are before it.
        replaces: Whether the file may replace one of its name.
    """

    offset: int
    content: bytes
    replaces: bool


class ChunksHandler(APIHandler):
    """Arguments of all requests: `path`, `size` in bytes, `modified` in ms of Unix time."""

    auth_resource = "contents"

    def read_chunk(self) -> Chunk:
        """Return what a PUT request sends.

        Raises:
            HTTPError: 400 for a wrong offset, 413 for more than 64 MiB.
        """
        content = self.request.body
        if len(content) > _MOST_CHUNK_BYTES:
            raise HTTPError(413, f"A chunk has at most {_MOST_CHUNK_BYTES} bytes.")
        replaces = self.get_query_argument("replaces", "") == "1"
        return Chunk(self.read_number("offset"), content, replaces)

    def read_number(self, name: str) -> int:
        """Return an argument of the request.

        Raises:
            HTTPError: 400 if it is not a whole number of 0 or more.
        """
        text = self.get_query_argument(name)
        if not text.isascii() or not text.isdecimal() or len(text) > 18:
            raise HTTPError(400, f"{name} must be a whole number of 0 or more.")
        return int(text)

    async def answer(self, found: Awaitable[dict[str, Any]]) -> None:
        """Send what was found, or the sentence of the error."""
        try:
            self.finish(await found)
        except (S3Error, UploadError) as error:
            refuse(self, error)


def refuse(handler: APIHandler, error: PortalError) -> None:
    """Answer with the status and the sentence of an error."""
    handler.log.warning("%s", error.message)
    handler.set_status(error.http_status)
    handler.finish({"message": error.message})
