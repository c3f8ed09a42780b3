"""Which of the portal's environments have Keras, on what, and how to run a program there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BACKENDS = ("tensorflow", "torch", "jax")
_ASK = (
    "from importlib.util import find_spec;"
    f"print(*[n for n in {BACKENDS!r} if find_spec('keras') and find_spec(n)])"
)


class BackendError(Exception):
    """A program did not run to its end."""


def find_backends() -> dict[str, Path]:
    """Return what Keras can run on, in this environment and in those beside it.

    Returns:
        For each backend the interpreter of an environment that has it; this one's first.
    """
    # A kernel's own prefix is that of the user's packages; the environment lies below it.
    environment = Path(os.environ.get("PORTAL_ENVIRONMENT", sys.prefix))
    beside = sorted(environment.parent.glob("*/bin/python"))
    found: dict[str, Path] = {}
    for python in [Path(sys.executable), *beside]:
        asked = subprocess.run(
            [python, "-c", _ASK], capture_output=True, text=True, check=False, env=_environ("")
        )
        for name in asked.stdout.split():
            found.setdefault(name, python)
    return found


def run_with(backend: str, python: Path, *argv: str) -> dict[str, Any]:
    """Run a Python program with Keras on a backend.

    Args:
        backend: One of BACKENDS.
        python: Interpreter of an environment that has it.
        argv: The program and its arguments.

    Returns:
        The JSON object that it printed on its last line.

    Raises:
        BackendError: If it fails, with the end of what it said.
    """
    done = subprocess.run(
        [python, *argv], capture_output=True, text=True, check=False, env=_environ(backend)
    )
    if done.returncode != 0:
        raise BackendError(f"{argv[0]} failed with Keras on {backend}:\n{done.stderr[-1500:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _environ(backend: str) -> dict[str, str]:
    # A kernel's own drawing settings do not exist in another environment.
    kept = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    # Steps this short lose more than they gain by PyTorch's threads, which wait for each other.
    threads = {"OMP_NUM_THREADS": "1"}
    return kept | threads | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "2"}
