"""Both implementations of environment modules, so that one machine can test kernels from either."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.process import run

# Debian's two packages exclude each other. Lmod's files are disjoint, so they are unpacked.
LMOD_NEEDS = ("lua5.3", "lua-posix", "lua-filesystem", "lua-term", "lua-json", "tcl")
PACKAGES = ("environment-modules", *LMOD_NEEDS)
LMOD_DIR = Path("/opt/lmod")
LMOD_LINK = Path("/usr/share/lmod")


def install_modules(log: IO[str]) -> None:
    """Install environment-modules, and unpack Lmod next to it."""
    ensure_packages(PACKAGES, log)
    if LMOD_LINK.exists():
        return
    with tempfile.TemporaryDirectory(prefix="lmod-") as name:
        folder = Path(name)
        run(["apt-get", "download", "lmod"], log=log, cwd=folder)
        (package,) = folder.glob("lmod_*.deb")
        run(["dpkg", "-x", str(package), str(LMOD_DIR)], log=log)
    LMOD_LINK.symlink_to(LMOD_DIR / "usr/share/lmod")
