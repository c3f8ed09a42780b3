"""Roots of other Debians, made once by debootstrap."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

CACHE_DIR = Path("/var/cache/data-scientist-portal")
MIRROR = "http://deb.debian.org/debian"
BUILD_TIMEOUT_S = 1800


def ensure_root(root: Path, suite: str, packages: Sequence[str]) -> Path:
    """Return the root of a Debian; where it cannot be had, the test is skipped.

    Args:
        suite: Debian's name of the release, such as "trixie".
    """
    if (root / "complete").exists():
        return root
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("a root of another Debian needs root and debootstrap")
    shutil.rmtree(root, ignore_errors=True)
    include = f"--include={','.join(packages)}"
    done = subprocess.run(
        ["debootstrap", "--variant=minbase", include, suite, root, MIRROR],
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        shutil.rmtree(root, ignore_errors=True)
        pytest.skip(f"{suite} cannot be had: {done.stdout.splitlines()[-1:]}")
    (root / "complete").touch()
    return root
