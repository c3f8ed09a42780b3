"""Packages of Debian that the targets need."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from deploy.environments.builder.errors import StepError
from deploy.environments.builder.process import output_of, run

APT_GET = ("apt-get", "-y", "-q", "-o", "DPkg::Lock::Timeout=600")
_one_at_a_time = threading.Lock()


def ensure_packages(names: Sequence[str], log: IO[str]) -> None:
    """Install the packages that are missing.

    Args:
        names: Names of Debian packages.
        log: Open log file.

    Raises:
        StepError: If a package can be installed neither from the present package lists nor
            after renewing them.
    """
    with _one_at_a_time:
        missing = [name for name in names if not is_installed(name)]
        if not missing:
            return
        install = (*APT_GET, "install", "--no-install-recommends", *missing)
        try:
            run(install, log=log)
        except StepError:
            run((*APT_GET, "update"), log=log, next_step="Check /etc/apt/sources.list.")
            run(install, log=log, next_step=f"Try 'apt-get install {' '.join(missing)}' by hand.")


def unpack_package(name: str, folder: Path, target: Path, log: IO[str]) -> None:
    """Unpack a package without installing it, so that none of its daemons starts.

    Args:
        name: Name of a Debian package.
        folder: An empty folder for what is downloaded.
        target: Folder that stands for the root of the file system.
        log: Open log file.

    Raises:
        StepError: If the package cannot be had, neither from the present package lists nor after
            renewing them.
    """
    # Downloads are refused to apt's own account where the folder is root's.
    download = (*APT_GET, "-o", "APT::Sandbox::User=root", "download", name)
    with _one_at_a_time:
        try:
            run(download, log=log, cwd=folder)
        except StepError:
            run((*APT_GET, "update"), log=log, next_step="Check /etc/apt/sources.list.")
            run(download, log=log, cwd=folder, next_step=f"Try 'apt-get download {name}' by hand.")
    (package,) = folder.glob("*.deb")
    run(["dpkg", "-x", package, target], log=log)


def is_installed(name: str) -> bool:
    """Return whether a Debian package is installed.

    Args:
        name: Name of the package.

    Returns:
        True where it is installed and configured.
    """
    return output_of(["dpkg-query", "-W", "-f", "${db:Status-Status}", name]) == "installed"
