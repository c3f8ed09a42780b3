"""Cases of a program that runs in the environment of TensorFlow, with the code of this checkout."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from deploy.environments.builder.plan import Plan
from tests.support.checkout import PYTHONPATH
from tests.support.outcomes import read_outcomes

PYTHON = Plan().environment("tensorflow") / "bin/python"
# TensorFlow's import alone takes a minute on a machine that does much else.
TIMEOUT_S = 600
# By which the suite mutation chooses the fault in the code under test.
MUTANT = "MUTANT_UNDER_TEST"


class TensorFlowCases:
    """What the cases of a program found; it runs when the first of them is asked for.

    Not in a fixture: the suite mutation measures only how long the tests themselves take.

    Args:
        program: Prints for each case a line of `read_outcomes`.
        environ: Its environment, besides what finds the code; "HOME" is needed.
    """

    def __init__(
        self, program: Path, names: Sequence[str], environ: Mapping[str, str], working_dir: Path
    ) -> None:
        self._argv = [str(PYTHON), str(program), *names]
        self._environ = {"PATH": "/usr/bin:/bin", **environ, "PYTHONPATH": PYTHONPATH}
        if "__mutmut_" in os.environ.get(MUTANT, ""):
            self._environ[MUTANT] = os.environ[MUTANT]
        self._working_dir = working_dir

    def __getitem__(self, name: str) -> Any:
        """Return what a case found."""
        if not PYTHON.exists():
            pytest.skip("no environment of TensorFlow; deploy/up builds it")
        found = read_outcomes(self._done.stdout)
        if self._done.returncode != 0 or name not in found:
            pytest.fail(f"{self._done.stdout}\n{self._done.stderr}")
        return found[name].value

    @cached_property
    def _done(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._argv,
            env=self._environ,
            cwd=self._working_dir,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
