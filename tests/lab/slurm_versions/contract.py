"""The contract of `Slurm`, kept by another release; run by inside.py in the root of its Debian."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.support.slurm_contract")

from spawner.client.slurm import Slurm  # noqa: E402
from spawner.programs import launcher  # noqa: E402
from tests.support.slurm_contract import SlurmContract  # noqa: E402

PROGRAM = Path("/usr/local/lib/dsportal-launcher")


@pytest.fixture(scope="session")
def program() -> Path:
    """Return the launcher as users can start it."""
    shutil.copy(launcher.__file__, PROGRAM)
    PROGRAM.chmod(0o755)
    return PROGRAM


@pytest.fixture
def slurm(program: Path) -> Slurm:
    return Slurm(launcher_argv=(str(program),), sudo_argv=("sudo", "-n", "-H", "-u"))


@pytest.fixture
def user() -> str:
    return "grace"


@pytest.fixture
def without_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Ask a controller that is not there."""

    def look_elsewhere() -> None:
        text = Path("/etc/slurm/slurm.conf").read_text()
        path = tmp_path / "slurm.conf"
        path.write_text(re.sub(r"(?m)^SlurmctldPort=.*$", "", text) + "\nSlurmctldPort=1\n")
        monkeypatch.setenv("SLURM_CONF", str(path))

    return look_elsewhere


class TestOtherSlurm(SlurmContract):
    """What is believed of Slurm 22.05 is true of this release too."""
