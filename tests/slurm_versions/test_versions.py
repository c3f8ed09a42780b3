"""The contract of `Slurm` against the Slurm of newer Debians, each in a root of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

CHECKOUT = Path(__file__).parents[2]
ROOTS = Path("/var/cache/data-scientist-portal/slurm-roots")
MIRROR = "http://deb.debian.org/debian"
PACKAGES = (
    *("slurmctld", "slurmd", "slurm-client", "slurmdbd", "slurm-wlm-mysql-plugin", "munge"),
    *("mariadb-server", "sudo", "iproute2", "procps", "hostname"),
    *("python3", "python3-pytest", "python3-pytest-asyncio", "python3-prometheus-client"),
)
BUILD_TIMEOUT_S = 1800
RUN_TIMEOUT_S = 600
# In name spaces of its own: a mount of the checkout, a network without anybody, its own host name.
RUN = """\
set -eu
mount --make-rprivate /
mkdir -p "$1/portal"
mount --bind "$2" "$1/portal"
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/dev/shm" 2>/dev/null || true
exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 PYTHONPATH=/portal \\
    python3 -B /portal/tests/slurm_versions/inside.py -c /portal/pyproject.toml \\
    --rootdir=/portal --junitxml=/tmp/contract.xml
"""


def ensure_root(suite: str) -> Path:
    """Return the root of a Debian, made once."""
    root = ROOTS / suite
    if (root / "complete").exists():
        return root
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("a root of another Debian needs root and debootstrap")
    shutil.rmtree(root, ignore_errors=True)
    done = subprocess.run(
        [
            "debootstrap",
            "--variant=minbase",
            f"--include={','.join(PACKAGES)}",
            suite,
            root,
            MIRROR,
        ],
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


def release_of(root: Path) -> str:
    asked = ["chroot", root, "dpkg-query", "--show", "slurmctld"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("suite", ["trixie", "sid"])
def test_the_contract_is_kept_by_the_slurm_of(suite: str) -> None:
    root = ensure_root(suite)
    print(f"\n{suite}: {release_of(root)}")
    report = root / "tmp/contract.xml"
    report.unlink(missing_ok=True)

    name_spaces = [
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--uts",
        "--ipc",
        "--fork",
        "--kill-child",
    ]
    done = subprocess.run(
        [*name_spaces, "sh", "-c", RUN, "sh", root, CHECKOUT],
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    print(f"{len(cases)} tests")
    assert len(cases) >= 15
