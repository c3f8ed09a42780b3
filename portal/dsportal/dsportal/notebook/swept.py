"""What a sweep runs at each point: a function or script on ranks, or a notebook in its kernel."""

import hashlib
import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dsportal.launch.layout import Layout
from dsportal.launch.session import SessionAllocation
from dsportal.notebook.notebook_job import find_command, write_notebook_plan
from dsportal.notebook.own_job import batch_command
from dsportal.notebook.runner import check_arguments, make_plan
from dsportal.notebook.sweep_handle import LOG_DIR
from dsportal.task.call import call_name, make_call
from dsportal.task.grid import folder_of_point
from dsportal.task.notebook import check_parameters, find_notebook, is_notebook
from dsportal.task.source import source_hash
from dsportal.task.sweep_folder import SweepFolder

Point = Mapping[str, Any]


class SweptFunction:
    """A function.

    Attributes:
        name: What the sweep is called without a name.
        source: Hash by which a change is noticed.
    """

    def __init__(self, train: Any, session: SessionAllocation, shape: Layout) -> None:
        self._train, self._session, self._shape = train, session, shape
        self._takes_logs = _takes_logs(train)
        self.name = call_name(make_call(train, (), {}))
        self.source = source_hash(train)

    def check(self, point: Point) -> None:
        """Refuse arguments that it does not take."""
        logs = {LOG_DIR: ""} if self._takes_logs else {}
        check_arguments(make_call(self._train, (), {**logs, **point}))

    def write(self, folder: SweepFolder, index: int, point: Point) -> None:
        """Write what point `index` needs into its folder."""
        own = {LOG_DIR: _make_logs(folder, index, point)} if self._takes_logs else {}
        call = make_call(self._train, (), {**own, **point})
        folder.run(index).write_plan(make_plan(self._session, self._shape, call))
        folder.run(index).write_call(call)

    def command(self, folder: Path) -> list[str]:
        """Return what the job of a point runs."""
        return batch_command(folder)


class SweptNotebook:
    """A notebook; its attributes are those of a function."""

    def __init__(
        self,
        train: str | Path,
        session: SessionAllocation,
        shape: Layout,
        walltime_s: int,
        command: Sequence[str],
    ) -> None:
        self._notebook = find_notebook(train)
        self._command = command or (find_command(os.environ), "job", "run")
        self._session, self._shape, self._walltime_s = session, shape, walltime_s
        self.name = self._notebook.stem
        self.source = hashlib.sha256(self._notebook.read_bytes()).hexdigest()

    def check(self, point: Point) -> None:
        """Refuse values that it cannot be sent."""
        check_parameters(point)

    def write(self, folder: SweepFolder, index: int, point: Point) -> None:
        """Write what point `index` needs into its folder."""
        write_notebook_plan(
            folder.run(index),
            self._notebook,
            dict(point),
            self._shape,
            simulated_gpus=self._session.simulated_gpus,
            walltime_s=self._walltime_s,
        )

    def command(self, folder: Path) -> list[str]:
        """Return what the job of a point runs."""
        return [*self._command, str(folder)]


class SweptScript:
    """A Python script, which gets its values as options; its attributes are those of a function."""

    def __init__(
        self,
        train: str | Path,
        session: SessionAllocation,
        shape: Layout,
        command: Sequence[str],
    ) -> None:
        call = make_call(train, (), {})
        self._script = Path(str(call.script))
        self._session, self._shape, self._command = session, shape, command
        self.name = call_name(call)
        self.source = hashlib.sha256(self._script.read_bytes()).hexdigest()

    def check(self, point: Point) -> None:
        """Refuse values that a command line cannot hold."""
        check_parameters(point, is_option=True)

    def write(self, folder: SweepFolder, index: int, point: Point) -> None:
        """Write what point `index` needs into its folder."""
        options = tuple(f"--{name}={value}" for name, value in point.items())
        call = make_call(self._script, options, {})
        plan = make_plan(self._session, self._shape, call)
        # The Python of the job may be another one than this.
        plan = replace(
            plan,
            module_paths=(),
            working_dir=str(self._script.parent),
            log_dir=_make_logs(folder, index, point),
        )
        folder.run(index).write_plan(plan)
        folder.run(index).write_call(call)

    def command(self, folder: Path) -> list[str]:
        """Return what the job of a point runs."""
        return [*self._command, str(folder)] if self._command else batch_command(folder)


def make_swept(
    train: Any,
    session: SessionAllocation,
    shape: Layout,
    walltime_s: int,
    command: Sequence[str],
) -> SweptFunction | SweptNotebook | SweptScript:
    """Return `train`, what a user gave `sweep`, as a function, a notebook or a script."""
    if is_notebook(train):
        return SweptNotebook(train, session, shape, walltime_s, command)
    if isinstance(train, (str, Path)):
        return SweptScript(train, session, shape, command)
    return SweptFunction(train, session, shape)


def _takes_logs(train: object) -> bool:
    try:
        return callable(train) and LOG_DIR in inspect.signature(train).parameters
    # Functions in C may not say.
    except (TypeError, ValueError):
        return False


def _make_logs(folder: SweepFolder, index: int, point: Point) -> str:
    logs = folder.logs / folder_of_point(index, point)
    logs.mkdir(parents=True, exist_ok=True)
    return str(logs)
