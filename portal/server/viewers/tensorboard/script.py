"""TensorBoard's browser script under one URL for all TensorBoards of a session.

It is 6 MB. Each TensorBoard has its own URL, so a browser would otherwise load and compile the
script again for every one of them.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import zipfile
from functools import cached_property
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler

from portal.server.base.authorization import for_the_user

ROUTE = "portal/tensorboard.js"
_ARCHIVE = "lib/python*/site-packages/tensorboard/webfiles.zip"
_IN_PAGE = re.compile(r'src="(index\.js\?_file_hash=[0-9a-f]+)"')
_NAME = "index.js"


class TensorBoardScript:
    """The script of an environment that has tensorboard.

    Source:
        tensorboard 2.21: webfiles.zip, whose index.html names the script with a hash of it.
    """

    def __init__(self, python: str) -> None:
        self._environment = Path(python).parent.parent
        self._packed: asyncio.Task[bytes] | None = None

    @cached_property
    def query(self) -> str:
        """Its query string with the hash of its content; empty if there is no script."""
        archive = self._archive
        if archive is None:
            return ""
        try:
            with zipfile.ZipFile(archive) as files:
                match = _IN_PAGE.search(files.read("index.html").decode("utf-8", "replace"))
        except (OSError, KeyError, zipfile.BadZipFile):
            return ""
        return "" if match is None else match[1].removeprefix(_NAME)

    def path(self, base_url: str) -> str:
        """Return its URL path; empty if each TensorBoard has to serve its own.

        Args:
            base_url: Path of the notebook server, with a slash at both ends.
        """
        return f"{base_url}{ROUTE}{self.query}" if self.query else ""

    async def packed(self) -> bytes:
        """Return the script, compressed by gzip only once."""
        if self._packed is None:
            self._packed = asyncio.ensure_future(asyncio.to_thread(self._pack))
        # A browser that disconnects must not cancel it for the others.
        return await asyncio.shield(self._packed)

    def _pack(self) -> bytes:
        with zipfile.ZipFile(self._archive or "") as files:
            return gzip.compress(files.read(_NAME), compresslevel=6)

    @cached_property
    def _archive(self) -> Path | None:
        return next(iter(self._environment.glob(_ARCHIVE)), None)


class TensorBoardScriptHandler(JupyterHandler):
    """Serves the script."""

    auth_resource = "tensorboards"

    def initialize(self, script: TensorBoardScript) -> None:
        """Store the arguments of the route."""
        self.script = script

    @for_the_user
    async def get(self) -> None:
        """Send it; browsers keep it until its hash changes."""
        if not self.script.query:
            self.send_error(404)
            return
        content = await self.script.packed()
        if "gzip" in self.request.headers.get("Accept-Encoding", ""):
            self.set_header("Content-Encoding", "gzip")
        else:
            content = gzip.decompress(content)
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.set_header("Cache-Control", "private, max-age=604800, immutable")
        await self.finish(content)
