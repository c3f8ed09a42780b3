"""Checkpoints of a run: where they are, when to save the last one, and how to resume from it.

In a function that runs on ranks:

    from dsportal import checkpoint

    saved = checkpoint.latest("state.pt")          # Path, or None at the first start
    ...
    for step in steps:
        ...
        if checkpoint.is_due():                    # the time limit or a preemption is near
            save(checkpoint.path("state.pt"))
            checkpoint.finish()                    # ends all ranks; run(..., resume=True) continues

Slurm sends the warning 90 seconds before the limit. Keras: `hvd.callbacks.CheckpointCallback`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from .errors import LaunchError
from .task.folder import RunFolder
from .task.folders import folder_title, parent_folder

CHECKPOINT_VARIABLE = "PORTAL_RUN_CHECKPOINTS"
SAVED_VARIABLE = "PORTAL_RUN_SAVED_MARK"
# sysexits.h, EX_TEMPFAIL: not an error of the function; Slurm ends the other ranks.
_EXIT_STATUS = 75
_warnings: list[int] = []


def path(name: str) -> Path:
    """Return the path of a checkpoint file of this run.

    Args:
        name: File name.

    Returns:
        The path. Its folder exists; the file may not.

    Raises:
        LaunchError: If this is no rank of a run.
    """
    folder = os.environ.get(CHECKPOINT_VARIABLE)
    if not folder:
        raise LaunchError("Checkpoints belong to a rank. Use them in what dsportal.run runs.")
    # Made here: a run that saves nothing has no such folder, and nothing to resume.
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    return Path(folder) / name


def latest(name: str) -> Path | None:
    """Return a checkpoint that this run, or the run that it resumes, has saved.

    Args:
        name: File name.

    Returns:
        Its path, or None if there is none.
    """
    found = path(name)
    return found if found.exists() else None


def is_due() -> bool:
    """Return whether the time limit or a preemption is near, so that it is time to save.

    Returns:
        True on every rank once Slurm has sent the warning. Ranks may see it at different steps, so
        let rank 0 alone save and finish.
    """
    return bool(_warnings)


def finish() -> NoReturn:
    """End all ranks after a checkpoint was saved; the run can be resumed."""
    sys.stdout.flush()
    sys.stderr.flush()
    if mark := os.environ.get(SAVED_VARIABLE):
        Path(mark).touch(mode=0o600)
    # Not sys.exit: Horovod would wait at exit for ranks that do not end by themselves.
    os._exit(_EXIT_STATUS)


def watch_for_warning() -> None:
    """Record Slurm's warning, SIGUSR1, from now on instead of dying of it."""

    def note(number: int, frame: FrameType | None) -> None:
        _warnings.append(number)

    # The handler only notes it: saving in the middle of a step would save half of it.
    signal.signal(signal.SIGUSR1, note)


def find_checkpoints(name: str) -> Path:
    """Return the folder of checkpoints of the newest earlier run of a function or script.

    Raises:
        LaunchError: If no earlier run has saved any.
    """
    title, parent = folder_title(name), parent_folder()
    earlier = sorted(parent.glob(f"*-{title}-????"), reverse=True)
    for folder in map(RunFolder, earlier):
        # The pattern also matches longer titles that end in this one.
        if folder.title == title and (folder.path / "run.json").is_file():
            # A resumed run saves into the folder of the run that it resumed.
            checkpoints = Path(folder.read_plan().checkpoint_dir or folder.path / "checkpoints")
            if checkpoints.is_dir() and any(checkpoints.iterdir()):
                return checkpoints
    raise LaunchError(
        f"No earlier run of {name} has saved a checkpoint, so there is nothing to resume. Leave "
        "resume out; dsportal.checkpoint says how a function saves one."
    )
