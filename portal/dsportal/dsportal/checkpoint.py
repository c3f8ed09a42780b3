"""Checkpoints of a run: where they are, when to save the last one, and how to resume from it.

In a function that runs on ranks:

    from dsportal import checkpoint

    saved = checkpoint.latest("state.pt")          # Path, or None at the first start
    ...
    for step in steps:
        ...
        if checkpoint.is_due():                    # the time limit or a preemption is near
            with checkpoint.writing("state.pt") as path:
                save(path)
            checkpoint.finish()                    # ends all ranks; run(..., resume=True) continues

Slurm sends the warning 90 seconds before the limit. Keras: `hvd.callbacks.CheckpointCallback`.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from dsportal.errors import LaunchError
from dsportal.whole_file import sync

CHECKPOINT_VARIABLE = "PORTAL_RUN_CHECKPOINTS"
SAVED_VARIABLE = "PORTAL_RUN_SAVED_MARK"
# sysexits.h, EX_TEMPFAIL: not an error of the function; Slurm ends the other ranks.
_EXIT_STATUS = 75
_warnings: list[int] = []


def path(name: str) -> Path:
    """Return the path of a checkpoint of this run, for savers that write from several ranks.

    A rank that is killed while it saves there leaves half a checkpoint: `writing` does not.

    Args:
        name: Name of the file or folder.

    Returns:
        The path. Its folder exists; the checkpoint may not.

    Raises:
        LaunchError: If this is no rank of a run.
    """
    folder = os.environ.get(CHECKPOINT_VARIABLE)
    if not folder:
        raise LaunchError("Checkpoints belong to a rank. Use them in what dsportal.run runs.")
    # Made here: a run that saves nothing has no such folder, and nothing to resume.
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    return Path(folder) / name


@contextmanager
def writing(name: str) -> Iterator[Path]:
    """Write a checkpoint that `latest` finds once it is whole, and on the disk.

    Until then, and if the block fails or the rank is killed in it, `latest` finds the one before,
    which is kept afterwards, too, in the folder `previous`.

    Returns:
        Where to save: nothing is there yet. It has the same name, in a folder of its own.
    """
    target = path(name)
    previous = _previous(target)
    # The oldest makes room. It is the only one if a rank was killed between the two renames.
    if target.exists():
        _remove(previous)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as folder:
        new = Path(folder) / name
        yield new
        if not new.exists():
            raise LaunchError(
                f"Nothing was saved at the path that checkpoint.writing({name!r}) gave. Some "
                "savers add a suffix: choose a name that has it, such as 'state.npz'."
            )
        for part in (*new.rglob("*"), new):
            sync(part)
        previous.parent.mkdir(mode=0o700, exist_ok=True)
        # There is none at first, nor if another rank saves under the same name.
        with suppress(FileNotFoundError):
            os.replace(target, previous)
        os.replace(new, target)
    sync(target.parent)


def latest(name: str) -> Path | None:
    """Return the newest whole checkpoint of this run, or of the run that it resumes."""
    target = path(name)
    return next((found for found in (target, _previous(target)) if found.exists()), None)


def _previous(target: Path) -> Path:
    # Under the same name, since savers and loaders go by its suffix.
    return target.parent / "previous" / target.name


def _remove(target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target, ignore_errors=True)
    else:
        target.unlink(missing_ok=True)


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
