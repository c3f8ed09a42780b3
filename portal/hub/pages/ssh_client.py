"""The program that users run on their own machines for their sessions and ssh, as one file."""

from __future__ import annotations

import functools
import io
import zipfile
from importlib.metadata import files
from pathlib import Path

import websocket
from jupyterhub.handlers import BaseHandler

from spawner import __version__

SOURCES_DIR = Path(__file__).parents[2] / "laptop"
WEBSOCKET_DIR = Path(websocket.__path__[0])
_PACKAGE = "dsportal_ssh"
_MAIN = f"""import sys

from {_PACKAGE}.cli import main

sys.exit(main(version={__version__!r}))
"""


@functools.cache
def build_archive() -> bytes:
    """Return the program as an archive that Python runs; the same bytes for the same sources.

    Source:
        https://docs.python.org/3/library/zipapp.html
    """
    archive = io.BytesIO(b"")
    # Where a shell can start it by its name.
    archive.write(b"#!/usr/bin/env python3\n")
    (licence,) = (one for one in files("websocket-client") or () if one.name == "LICENSE")
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr(_entry("__main__.py"), _MAIN)
        for name, folder in ((_PACKAGE, SOURCES_DIR), ("websocket", WEBSOCKET_DIR)):
            for path in sorted(folder.glob("*.py")):
                file.writestr(_entry(f"{name}/{path.name}"), path.read_bytes())
        file.writestr(_entry("websocket/LICENSE"), licence.read_binary())
    return archive.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    # With the format's first moment as its time.
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


class SshClientHandler(BaseHandler):
    """Serves it to anybody, as it serves the guides: what opens a session is the token."""

    async def get(self) -> None:
        """Send the archive as a download."""
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("Content-Disposition", 'attachment; filename="dsportal-ssh.pyz"')
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-cache")
        self.finish(build_archive())
