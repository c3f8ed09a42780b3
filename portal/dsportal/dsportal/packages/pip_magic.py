"""Lets `%pip` install for the user, even if the kernel had to start without the user's packages."""

from __future__ import annotations

import os
import shlex
from typing import Any

EXTENSION = "dsportal.packages.pip_magic"
VARIABLE = "PORTAL_PACKAGES_PIP"


def load_ipython_extension(shell: Any) -> None:
    """Replace IPython's `%pip` in `shell` by one that runs the pip of the user's packages."""
    # Removed, so that kernels that a cell starts do not inherit it.
    program = os.environ.pop(VARIABLE, "")

    def pip(line: str) -> None:
        """Run pip for the packages of this kernel: %pip install NAME."""
        # The line as typed, as IPython's own %pip hands it to the shell.
        shell.system(f"{shlex.quote(program)} {line}")
        print("Note: you may need to restart the kernel to use updated packages.")

    if program:
        shell.register_magic_function(pip, "line", "pip")
