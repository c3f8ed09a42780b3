"""An account without rights, as which what is installed is tried."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.environments.builder.process import SYSTEM_PATH

# What the account nobody can run, every account can.
AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--reset-env")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder of an account without rights."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    subprocess.run(["chown", "65534:65534", folder], check=True)
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(parent.stat().st_mode | 0o111)
    return folder


def as_nobody(argv: Sequence[str | Path], home: Path | None = None, **variables: str) -> str:
    """Run a command without rights; return what it printed."""
    # The shell of an account that nobody logs in with runs no cell with "!".
    place = {"SHELL": "/bin/sh"} | ({"HOME": str(home)} if home else {})
    environ = [f"{name}={value}" for name, value in (place | variables).items()]
    done = subprocess.run(
        [*AS_NOBODY, "env", f"PATH={SYSTEM_PATH}", *environ, *map(str, argv)],
        cwd=home or "/",
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
