"""Which earlier run a run continues, and the copy of its checkpoints."""

import shutil
from datetime import datetime

from dsportal.errors import LaunchError
from dsportal.notebook.handle import Run
from dsportal.notebook.runs import attach, runs
from dsportal.task.folder import RunFolder
from dsportal.task.folders import folder_title

_N_NAMED = 5


def find_resumed(resume: object, name: str) -> Run | None:
    """Return the run to continue.

    Args:
        resume: True for the newest of a function or script, or a run's name or a part of it.
    """
    if not isinstance(resume, (bool, str)):
        raise LaunchError(f"You asked for resume={resume!r}. Give True or the name of a run.")
    if not resume:
        return None
    title = folder_title(name)
    earlier = [each for each in runs(n=None) if each.folder.title == title]
    able = [each for each in earlier if each.folder.saved_s]
    if resume is True and not able:
        raise LaunchError(
            f"No earlier run of {name} has saved a checkpoint, so there is nothing to resume. "
            "Leave resume out. help(dsportal.checkpoint) says how a function saves one."
        )
    found = earlier[0] if resume is True else attach(str(resume))
    if found.folder.saved_s:
        return found
    which = f"The newest run of {name}" if resume is True else "The run"
    others = "".join(f"\n  resume={each.id[-4:]!r}  {_words(each)}" for each in able[:_N_NAMED])
    raise LaunchError(
        f"{which}, {found.id} ({found.state}), has saved no checkpoint. "
        + (f"These have:{others}" if others else "Leave resume out.")
    )


def announce_resumed(run: Run) -> str:
    """Return the line that tells which run is continued."""
    return f"Continues {_words(run)}.\n"


def copy_checkpoints(run: Run, folder: RunFolder) -> None:
    """Copy the checkpoints of a run into the folder of the one that continues it."""
    # Not what a rank was writing when it was killed.
    unfinished = shutil.ignore_patterns(".new-*")
    try:
        shutil.copytree(run.folder.checkpoints, folder.checkpoints, ignore=unfinished)
    except OSError as error:
        raise LaunchError(
            f"The checkpoints of {run.id} cannot be copied to {folder.path}: {error}. Make room: "
            "'du -sh ~/portal-runs/*' shows how much each run takes."
        ) from error


def _words(run: Run) -> str:
    saved = datetime.fromtimestamp(run.folder.saved_s)
    return f"{run.id} ({run.state}, checkpoint of {saved:%d %b, %H:%M})"
