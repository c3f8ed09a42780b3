"""Says above the output of a kernel's first cell what became of the user's packages."""

from __future__ import annotations

import os
import sys
from typing import Any

EXTENSION = "portal.packages.note"
VARIABLE = "PORTAL_PACKAGES_NOTE"


def load_ipython_extension(shell: Any) -> None:
    """Wait for the first cell: what is printed before it is shown nowhere.

    Args:
        shell: IPython's shell in the kernel.
    """
    note = os.environ.pop(VARIABLE, "")

    def say(*_: object) -> None:
        shell.events.unregister("pre_run_cell", say)
        print(note, file=sys.stderr, flush=True)

    if note:
        shell.events.register("pre_run_cell", say)
