"""Prints a note about the user's packages above the output of a kernel's first cell."""

from __future__ import annotations

import os
import sys
from typing import Any

EXTENSION = "dsportal.packages.note"
VARIABLE = "PORTAL_PACKAGES_NOTE"


def load_ipython_extension(shell: Any) -> None:
    """Print the note with the first cell of `shell`: output before that is shown nowhere."""
    # Removed, so that programs that a cell starts do not inherit it.
    note = os.environ.pop(VARIABLE, "")

    def say(*_: object) -> None:
        shell.events.unregister("pre_run_cell", say)
        print(note, file=sys.stderr, flush=True)

    if note:
        shell.events.register("pre_run_cell", say)
