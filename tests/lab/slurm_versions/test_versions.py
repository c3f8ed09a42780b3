"""The contract of `Slurm` against the Slurm of newer Debians, each in a root of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.debian_root import CACHE_DIR, ensure_root

CHECKOUT = Path(__file__).parents[3]
ROOTS = CACHE_DIR / "slurm-roots"
PACKAGES = (
    *("slurmctld", "slurmd", "slurm-client", "slurmdbd", "slurm-wlm-mysql-plugin", "munge"),
    *("mariadb-server", "sudo", "iproute2", "procps", "hostname"),
    *("python3", "python3-pytest", "python3-pytest-asyncio", "python3-prometheus-client"),
)
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
exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \\
    PYTHONPATH=/portal:/portal/portal/dsportal \\
    python3 -B /portal/tests/lab/slurm_versions/inside.py -c /portal/pyproject.toml \\
    --rootdir=/portal --junitxml=/tmp/contract.xml
"""


def cuda_release(root: Path) -> str:
    asked = ["chroot", root, "dpkg-query", "--show", "slurmctld"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("suite", ["trixie", "sid"])
def test_the_contract_is_kept_by_the_slurm_of(suite: str) -> None:
    root = ensure_root(ROOTS / suite, suite, PACKAGES)
    print(f"\n{suite}: {cuda_release(root)}")
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
