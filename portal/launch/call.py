"""What a run runs: a function of the notebook with its arguments, or a script."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from portal.launch.errors import LaunchError


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a rank runs: a function with its arguments, or a script.

    Attributes:
        function: The function, or None for a script.
        script: Absolute path of the script, or None for a function.
        args: Positional arguments; for a script its command line.
        kwargs: Arguments by name; none for a script.
    """

    function: Callable[..., Any] | None = None
    script: str | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    def run(self) -> object:
        """Run it.

        Returns:
            What the function returned; None for a script.
        """
        if self.function is not None:
            return self.function(*self.args, **self.kwargs)
        sys.argv = [str(self.script), *map(str, self.args)]
        runpy.run_path(str(self.script), run_name="__main__")
        return None


def make_call(train: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Return the call that a user asked for.

    Args:
        train: A function, or the path of a Python script.
        args: Positional arguments; for a script its command line.
        kwargs: Arguments by name; for a script there are none.

    Returns:
        The call.

    Raises:
        LaunchError: If `train` is neither, the script is not there, or it was given arguments by
            name.
    """
    if callable(train):
        return Call(function=train, args=args, kwargs=kwargs)
    if not isinstance(train, (str, Path)):
        raise LaunchError(
            f"run takes a function or the path of a script, and got {type(train).__name__}. Give "
            "it the function itself, without brackets after its name."
        )
    script = Path(train).expanduser().absolute()
    if not script.is_file():
        raise LaunchError(f"There is no script {script}. Paths start at {Path.cwd()}.")
    if kwargs:
        raise LaunchError(
            f"A script takes no arguments by name, and got {', '.join(kwargs)}. Give them as its "
            "command line: run('train.py', '--epochs', '3')."
        )
    return Call(script=str(script), args=args)


def call_name(call: Call) -> str:
    """Return a short name for the run."""
    if call.script is not None:
        return Path(call.script).stem
    return str(getattr(call.function, "__name__", "run"))
