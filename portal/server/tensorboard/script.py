"""TensorBoard's script for the browser: one address for all TensorBoards of a session.

It is 6 MB. Each TensorBoard has an address of its own, so that a browser would load and compile the
script for every one of them.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import zipfile
from functools import cached_property
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler

from portal.server.authorization import for_the_user

ROUTE = "portal/tensorboard.js"
_ARCHIVE = "lib/python*/site-packages/tensorboard/webfiles.zip"
_IN_PAGE = re.compile(r'src="(index\.js\?_file_hash=[0-9a-f]+)"')
_NAME = "index.js"


class TensorBoardScript:
    """The script in an environment that has tensorboard.

    Args:
        python: Python of that environment.

    Source:
        tensorboard 2.21: webfiles.zip, whose index.html names the script with a hash of it.
    """

    def __init__(self, python: str) -> None:
        self._environment = Path(python).parent.parent
        self._packed: asyncio.Task[bytes] | None = None

    @cached_property
    def query(self) -> str:
        """The part of its address that changes with its content; empty where there is no script."""
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
        """Return its path in the browser.

        Args:
            base_url: Path of the notebook server, with a slash at both ends.

        Returns:
            The path; empty where each TensorBoard has to serve its own.
        """
        return f"{base_url}{ROUTE}{self.query}" if self.query else ""

    async def packed(self) -> bytes:
        """Return the script, packed by gzip once."""
        if self._packed is None:
            self._packed = asyncio.ensure_future(asyncio.to_thread(self._pack))
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
        """Take what the route was registered with."""
        self.script = script

    @for_the_user
    async def get(self) -> None:
        """Send it, to be kept for as long as its address stays."""
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
