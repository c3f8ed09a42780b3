"""The command of users' own machines as one file."""

import functools
import io
import zipfile
from importlib.metadata import files
from pathlib import Path

import websocket
from jupyterhub.handlers import BaseHandler

import dsportal

FILE = "dsportal.pyz"
_FOLDER = Path(dsportal.__file__).parent
# What of `dsportal` a laptop needs.
_SOURCES = ("__init__.py", "amounts.py", "tool.py", "laptop/*.py", "laptop/mcp/*.py")
_WEBSOCKET = Path(websocket.__path__[0])
_MAIN = """import sys

from dsportal.laptop.cli import main

sys.exit(main())
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
        held = [path for pattern in _SOURCES for path in _FOLDER.glob(pattern)]
        for path in sorted([*held, *_WEBSOCKET.glob("*.py")]):
            home = _FOLDER.parent if path.is_relative_to(_FOLDER) else _WEBSOCKET.parent
            file.writestr(_entry(path.relative_to(home).as_posix()), path.read_bytes())
        file.writestr(_entry("websocket/LICENSE"), licence.read_binary())
    return archive.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    # With the format's first moment as its time.
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


class LaptopProgramHandler(BaseHandler):
    """Serves it to anybody, as it serves the guides: what opens a session is the token."""

    async def get(self) -> None:
        """Send the archive as a download."""
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("Content-Disposition", 'attachment; filename="dsportal.pyz"')
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-cache")
        self.finish(build_archive())
