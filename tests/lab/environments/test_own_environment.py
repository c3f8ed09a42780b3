"""`dsportal environments new` with the ordinary index: real packages, and a real kernel."""

import subprocess
import sys
from pathlib import Path

from deploy.environments.builder.process import clean_environment
from tests.support.checkout import PYTHONPATH

CHECKOUT = Path(__file__).parents[3]


def test_a_user_makes_an_environment_from_the_ordinary_index(tmp_path: Path) -> None:
    environ = clean_environment(HOME=str(tmp_path), PYTHONPATH=PYTHONPATH)
    command = [sys.executable, "-m", "portal.cli", "environments"]

    made = subprocess.run(
        [*command, "new", "mine", "einops"],
        cwd="/",
        env=environ,
        timeout=400,
        capture_output=True,
        text=True,
        check=False,
    )
    exported = subprocess.run(
        [*command, "export", "mine"],
        cwd="/",
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "mine: works on this machine." in made.stdout, made.stderr
    assert {"einops", "ipykernel", "pip"} <= {
        line.partition("==")[0] for line in exported.stdout.splitlines()
    }
