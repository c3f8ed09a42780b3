"""Variables that the session before this one has saved for a notebook: its next kernel has them.

They are restored when the first cell runs: before that, they would make the start of the kernel as
long as their imports take.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
import time

from . import variables
from .gpu_magic import named, update
from .variable_words import lost_words

FOLDER = ".local/state/data-scientist-portal/follow-up"
# Whoever opens a notebook next week does not expect them.
LATEST_S = 24 * 3600


def folder_of(notebook: str, job_id: str) -> str:
    """Return where a session puts the variables of a notebook."""
    name = hashlib.sha256(os.path.realpath(notebook).encode()).hexdigest()[:32]
    return os.path.join(os.path.expanduser("~"), FOLDER, f"{name}-{job_id}")


def left_for(notebook):
    """Return the newest folder that another session has left for a notebook, or None."""
    # A kernel that is restarted in the session that goes on after all starts empty.
    own = folder_of(notebook, os.environ.get("SLURM_JOB_ID", ""))
    found = glob.glob(glob.escape(folder_of(notebook, "")) + "*")
    left = [folder for folder in found if folder != own and is_recent(folder)]
    return max(left, key=os.path.getmtime, default=None)


def is_recent(folder: str) -> bool:
    """Return whether a folder has variables that may still be wanted."""
    with contextlib.suppress(OSError):
        return time.time() - os.stat(os.path.join(folder, variables.INDEX)).st_mtime < LATEST_S
    return False


def offer(shell):
    """Let the first cell of IPython's `shell` have what was saved for its notebook."""
    notebook = os.path.basename(os.environ.get("JPY_SESSION_NAME", ""))
    # One in a job of its own is never the first of its notebook.
    if not notebook or os.environ.get("PORTAL_KERNEL_JOB"):
        return
    folder = left_for(os.path.join(os.getcwd(), notebook))
    if folder is None:
        return

    def before_the_first_cell(_):
        shell.events.unregister("pre_run_cell", before_the_first_cell)
        restore(shell, folder)

    shell.events.register("pre_run_cell", before_the_first_cell)


def restore(shell, folder):
    """Restore the variables in a `folder` in IPython's `shell`, and show how that went."""
    claimed = os.path.join(os.path.dirname(folder), "claimed-" + os.path.basename(folder))
    try:
        # Another kernel of the notebook, and one after this one, starts without them.
        os.rename(folder, claimed)
    except OSError:
        return
    shown = update(None, "The variables of the session before are being restored.")
    try:
        report = variables.restore(shell, claimed)
        n_restored = report["restored"] - len(report["lost"])
        words = f"Variables of the session before that are back: {n_restored}."
        words = f"{words} {lost_words(report['lost'])}".strip()
    # The notebook goes on without them.
    except Exception as error:
        words = f"The variables of the session before are lost. {named(error)}."
    finally:
        shutil.rmtree(claimed, ignore_errors=True)
    update(shown, words)
