"""What a kernel does about the user's packages: `%pip`, and a note or a renewal in its first cell.

`%pip` installs for the user even if the kernel had to start without the user's packages.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from dsportal.packages.overlay import Overlay
from dsportal.packages.renewal import install_once

NAME = "dsportal.packages.extension"
NOTE, PIP, RENEWAL = "PORTAL_PACKAGES_NOTE", "PORTAL_PACKAGES_PIP", "PORTAL_PACKAGES_RENEWAL"


def load_ipython_extension(shell: Any) -> None:
    """Do in IPython's `shell` what the variables say."""
    # Removed, so that programs and kernels that a cell starts do not inherit them.
    note, program, kernel = (os.environ.pop(name, "") for name in (NOTE, PIP, RENEWAL))

    def pip(line: str) -> None:
        """Run pip for the packages of this kernel: %pip install NAME."""
        # The line as typed, as IPython's own %pip hands it to the shell.
        shell.system(f"{shlex.quote(program)} {line}")
        print("Note: you may need to restart the kernel to use updated packages.")

    def before_the_first_cell(*_: object) -> None:
        shell.events.unregister("pre_run_cell", before_the_first_cell)
        if note:
            print(note, file=sys.stderr, flush=True)
        if kernel:
            install_once(shell, kernel, Overlay(Path(sys.prefix)))

    if program:
        shell.register_magic_function(pip, "line", "pip")
    # Not now: output before the first cell is shown nowhere.
    if note or kernel:
        shell.events.register("pre_run_cell", before_the_first_cell)
