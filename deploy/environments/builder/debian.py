"""System packages that targets need: installed with apt-get, or named if there is no apt-get."""

import shutil
import threading
from collections.abc import Sequence
from typing import IO

from deploy.common.errors import DeployError
from deploy.environments.builder.process import SYSTEM_PATH, read_output, run

# Seconds to wait for another apt-get, such as that of nightly upgrades, before it fails.
APT_GET = ("apt-get", "-y", "-q", "-o", "DPkg::Lock::Timeout=600")
# RHEL's names if they differ from Debian's, and below them the program that each is needed for.
RPM_NAMES = {
    "g++": "gcc-c++",
    "python3-venv": "python3",
    "libopenmpi-dev": "openmpi-devel",
    "openmpi-bin": "openmpi",
}
PROGRAMS = {"g++": "g++", "cmake": "cmake", "make": "make", "libopenmpi-dev": "mpicc"}
PROGRAMS |= {"openmpi-bin": "mpirun"}
# Targets are built in threads, and apt's own lock makes a second apt-get wait or fail.
_one_at_a_time = threading.Lock()


def ensure_packages(names: Sequence[str], log: IO[str]) -> None:
    """Install missing packages; without apt-get check that their programs exist."""
    if shutil.which(APT_GET[0], path=SYSTEM_PATH) is None:
        refuse_lacks(names)
        return
    with _one_at_a_time:
        missing = [name for name in names if not is_installed(name)]
        if not missing:
            return
        argv = (*APT_GET, "install", "--no-install-recommends", *missing)
        try:
            run(argv, log=log)
        except DeployError:
            # An image often ships without package lists, and old lists name files that are gone.
            run((*APT_GET, "update"), log=log, next_step="Check /etc/apt/sources.list.")
            by_hand = f"Try 'apt-get install {' '.join(missing)}' by hand."
            run(argv, log=log, next_step=by_hand)


def refuse_lacks(names: Sequence[str]) -> None:
    """Check that the programs of packages exist on a system without apt-get."""
    lacking = [name for name in names if not _has_program(name)]
    if lacking:
        rpms = " ".join(RPM_NAMES.get(name, name.replace("-dev", "-devel")) for name in lacking)
        raise DeployError(
            f"This system has no apt-get, and lacks what Debian has in {', '.join(lacking)}.",
            f"Install it, for instance by 'dnf install {rpms}', then run this again.",
        )


def _has_program(package: str) -> bool:
    # A package that brings no program, such as headers, cannot be looked for here; whoever asks for
    # one has found it missing.
    program = PROGRAMS.get(package)
    return program is not None and shutil.which(program, path=SYSTEM_PATH) is not None


def is_installed(name: str) -> bool:
    """Return whether a Debian package is installed and configured."""
    # dpkg also knows packages that were removed and have left their configuration.
    return read_output(["dpkg-query", "-W", "-f", "${db:Status-Status}", name]) == "installed"
