"""What every upload in chunks asks and answers, wherever its bytes go."""

from dataclasses import dataclass

from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError

from dsportal.slurm.errors import PortalError
from portal.server.base.authorization import whole_number

_MIB = 1024 * 1024
_MOST_CHUNK_BYTES = 64 * _MIB


class UploadError(PortalError):
    """A file cannot be uploaded to this place."""

    http_status = 403


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

    def on_finish(self) -> None:
        """Free the body, which may have 64 MiB.

        JupyterHub's code for sessions gives each handler a function that holds the handler, so
        that both stay until Python's collector of cycles comes by. It counts objects, not bytes.

        Source:
            JupyterHub 6.1.1, `JupyterHubIdentityProvider._patch_get_login_url`.
        """
        self.request.body = b""

    def read_number(self, name: str) -> int:
        """Return an argument of the request.

        Raises:
            HTTPError: 400 if it is not a whole number of 0 or more.
        """
        number = whole_number(self.get_query_argument(name), -1)
        if number < 0:
            raise HTTPError(400, f"{name} must be a whole number of 0 or more.")
        return number
