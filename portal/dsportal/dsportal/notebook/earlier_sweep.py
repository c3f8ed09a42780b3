"""Which sweep a call continues: that of its name, or one that it says to resume."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dsportal.errors import LaunchError
from dsportal.notebook.runs import show
from dsportal.notebook.sweep_handle import Sweep
from dsportal.task.folders import create_folder
from dsportal.task.stopping import MedianStopping
from dsportal.task.sweep_folder import SweepFolder, SweepRecord, all_sweeps, sweeps_folder

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")


def find_earlier(name: str, record: SweepRecord, *, resume: bool) -> SweepFolder | None:
    """Return the sweep that a call continues, or None if it starts one.

    Args:
        name: Name that the user gave, or "".
        resume: Whether to continue although the function has changed, and without a name, too.
    """
    if name:
        return _find_named(name, record, resume=resume)
    same = (
        (folder, earlier)
        for folder, earlier in all_sweeps()
        if (earlier.function, earlier.points) == (record.function, record.points)
    )
    folder, earlier = next(same, (None, record))
    if folder is None and resume:
        raise LaunchError(
            f"No earlier sweep of {record.function} has these points, so there is nothing to "
            f"resume. Leave resume out. Sweeps are in {sweeps_folder()}."
        )
    if folder is None:
        return None
    if resume:
        if _has_changed(earlier, record):
            show(f"{record.function} has changed since. Points that are done keep their results.\n")
        return folder
    if Sweep.load(folder.path).is_under_way():
        raise LaunchError(
            f"A sweep of {record.function} with these points still runs, {folder.name}. Continue "
            "with it: resume=True. To start another one beside it, give it a name: name='second'."
        )
    return None


def _find_named(name: str, record: SweepRecord, *, resume: bool) -> SweepFolder | None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise LaunchError(
            f"A sweep cannot be named {name!r:.80}. Take up to 60 letters, digits, dots, hyphens "
            "and underscores."
        )
    folder = SweepFolder(sweeps_folder() / name)
    earlier = folder.read_record()
    if earlier is None:
        if resume:
            raise LaunchError(
                f"There is no sweep {name} to resume in {sweeps_folder()}. Leave resume out."
            )
        return None
    if earlier.points != record.points:
        raise LaunchError(
            f"The sweep {name} has other points: {_difference(earlier, record)}. Give the grid "
            "that it has, or this sweep another name."
        )
    if not _has_changed(earlier, record):
        return folder
    changed = (
        f"{record.function} has changed"
        if earlier.function == record.function
        else f"its function was {earlier.function} and not {record.function}"
    )
    if not resume:
        raise LaunchError(
            f"The sweep {name} is another one: {changed}. Give this sweep another name, or "
            "continue with the function as it is now: resume=True. Points that are done keep "
            "their results then."
        )
    show(f"In the sweep {name} {changed}. Points that are done keep their results.\n")
    return folder


def _has_changed(earlier: SweepRecord, record: SweepRecord) -> bool:
    # Of a function without a source only the name can be compared.
    is_known = bool(earlier.source and record.source)
    return earlier.function != record.function or (is_known and earlier.source != record.source)


def _difference(earlier: SweepRecord, record: SweepRecord) -> str:
    old, new = set(earlier.points), set(record.points)
    added, gone = sorted(new - old), sorted(old - new)
    if not added and not gone:
        return "the same ones in another order"
    words = [f"{kind} {_some(names)}" for kind, names in (("not", added), ("also", gone)) if names]
    return ", ".join(words)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return "; ".join(f"({each})" for each in names[:2]) + more


def create_sweep(
    name: str, record: SweepRecord, points: list[dict[str, Any]], rule: object
) -> SweepFolder:
    """Create the folder of a new sweep.

    Args:
        points: Keyword arguments of each point.
        rule: Which points to stop early, as from `parse_rule`.
    """
    parent = sweeps_folder()
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if name:
        folder = SweepFolder(parent / name)
        try:
            folder.path.mkdir(mode=0o700)
        except FileExistsError as error:
            raise LaunchError(
                f"{folder.path} is there, and is no sweep. Give this sweep another name."
            ) from error
    else:
        folder = SweepFolder(create_folder(record.function, datetime.now(), parent).path)
    folder.write(record, points, rule)
    return folder


def parse_rule(stop_worst: Any) -> MedianStopping | Any | None:
    """Return which points to stop early: `stop_worst` is True, False or one of Optuna's pruners."""
    if stop_worst is False:
        return None
    if stop_worst is True:
        return MedianStopping()
    if not callable(getattr(stop_worst, "prune", None)):
        raise LaunchError(
            f"You asked for stop_worst={stop_worst!r:.80}. Choose True, False, or one of Optuna's "
            "pruners, such as optuna.pruners.HyperbandPruner()."
        )
    return stop_worst
