"""What a run runs: a function of the notebook with its arguments, or a script."""

import linecache
import runpy
import sys
import tokenize
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsportal.errors import LaunchError


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function with its arguments, or a script.

    Attributes:
        function: None for a script.
        script: Absolute path, or None for a function.
        args: Positional arguments; for a script its command line.
        kwargs: Keyword arguments; empty for a script.
        cells: Source lines of the notebook's cells, by Python's file name of each.
    """

    function: Callable[..., Any] | None = None
    script: str | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, list[str]] = field(default_factory=dict)

    def run(self) -> object:
        """Run it.

        Returns:
            What the function returned; None for a script.
        """
        for name, lines in self.cells.items():
            # So that a traceback can show lines of cells, which are in no file.
            linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
        if self.function is not None:
            return self.function(*self.args, **self.kwargs)
        # As Python does for a script.
        sys.argv = [str(self.script), *map(str, self.args)]
        runpy.run_path(str(self.script), run_name="__main__")
        return None


def make_call(train: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Check what a user passed to `run`.

    Args:
        train: A function, or the path of a Python script.
        args: Positional arguments; for a script its command line.
        kwargs: Keyword arguments; a script takes none.

    Raises:
        LaunchError: If `train` is neither, the script cannot be read, or it was given keyword
            arguments.
    """
    if callable(train):
        return Call(function=train, args=args, kwargs=kwargs, cells=_cell_sources())
    if not isinstance(train, (str, Path)):
        raise LaunchError(
            f"run takes a function or the path of a script, and got {type(train).__name__}. Give "
            "it the function itself, without brackets after its name."
        )
    script = Path(train).expanduser().absolute()
    if not script.is_file():
        raise LaunchError(f"There is no script {script}. Paths start at {Path.cwd()}.")
    _check_encoding(script)
    if kwargs:
        raise LaunchError(
            f"A script takes no arguments by name, and got {', '.join(kwargs)}. Give them as its "
            "command line: run('train.py', '--epochs', '3')."
        )
    return Call(script=str(script), args=args)


def _check_encoding(script: Path) -> None:
    try:
        with tokenize.open(script) as file:
            file.read()
    except (SyntaxError, UnicodeDecodeError) as error:
        raise LaunchError(
            f"{script} is not UTF-8, and its first line names no encoding that it is in ({error}). "
            "Save it as UTF-8, or begin it with its encoding, such as # -*- coding: latin-1 -*-"
        ) from error
    except OSError as error:
        raise LaunchError(f"{script} cannot be read: {error.strerror}.") from error


def _cell_sources() -> dict[str, list[str]]:
    # Entries of one element are loaded lazily and have no lines yet.
    entries = {name: entry for name, entry in linecache.cache.items() if len(entry) == 4}
    return {name: entry[2] for name, entry in entries.items() if not Path(name).exists()}


def call_name(call: Call) -> str:
    """Return a name for the run: that of the function, or of the script without its suffix."""
    if call.script is not None:
        return Path(call.script).stem
    return str(getattr(call.function, "__name__", "run"))
