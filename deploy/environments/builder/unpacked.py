"""Debian packages that tests use, unpacked outside the system: none of their daemons starts."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import IO

from deploy.environments.builder.debian import unpack_package
from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.plan import Plan


def program(plan: Plan, package: str, path: str) -> Path:
    """Return a program of an unpacked package.

    `path` begins at the root of the file system, without a slash, such as "usr/sbin/nginx".
    """
    return _folder(plan, package) / path


def unpack(plan: Plan, package: str, log: IO[str]) -> None:
    """Download and unpack a package."""
    folder = _folder(plan, package)
    new = folder.with_name(f"{package}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="unpacked-") as name:
        unpack_package(package, Path(name), new, log)
    replace_folder(folder, new)


def _folder(plan: Plan, package: str) -> Path:
    return plan.prefix / "unpacked" / package
