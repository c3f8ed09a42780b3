"""Pickles functions, arguments and results for a run's folder."""

import builtins
import copyreg
import dis
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from dsportal.errors import LaunchError
from dsportal.task.call import Call


def pickled(value: object, refusal: str) -> bytes:
    """Return a `value` as bytes, functions by value if the notebook defines them.

    `refusal` begins the message if cloudpickle does not take it, without a full stop.
    """
    try:
        import cloudpickle
    except ImportError as error:
        raise LaunchError(
            "This kernel's environment has no cloudpickle, which carries functions to the ranks. "
            "Choose the kernel tensorflow, or install cloudpickle where this kernel runs."
        ) from error
    _send_exit_as_builtin()
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        which = _find_unsendable(value, cloudpickle.dumps)
        raise LaunchError(
            f"{refusal}{which} ({error}). Use numbers, text, arrays, dictionaries and lists, and "
            "open files, models and data sets inside the function."
        ) from error


def unpickled(path: Path) -> Any:
    """Return the object in a file that only the user can write, such as those of a run's folder."""
    with path.open("rb") as file:
        return pickle.load(file)  # noqa: S301


def _send_exit_as_builtin() -> None:
    # IPython's own `exit` and `quit` hold the whole notebook.
    autocall = sys.modules.get("IPython.core.autocall")
    for name in ("ExitAutocall", "ZMQExitAutocall"):
        if (kind := getattr(autocall, name, None)) is not None:
            copyreg.pickle(kind, lambda _: (_builtin_exit, ()))


def _builtin_exit() -> object:
    return getattr(builtins, "exit", sys.exit)


def _find_unsendable(value: object, dumps: Callable[[object], bytes]) -> str:
    """Return ": " and the name of what in a call cannot be pickled, or nothing."""
    if not isinstance(value, Call):
        return ""
    given = [(f"argument {n}", each) for n, each in enumerate(value.args, start=1)]
    given += [(f"the argument {name}", each) for name, each in value.kwargs.items()]
    for name, each in (*given, *_used_by(value.function, set())):
        try:
            dumps(each)
        except Exception:
            return f": {name}"
    return ""


def _used_by(function: object, seen: set[int]) -> Iterator[tuple[str, object]]:
    """Yield what a function and those that it calls use of the notebook, the innermost first."""
    if not isinstance(function, FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    used = {name: function.__globals__.get(name) for name in globals_of(function.__code__)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        # A cell may be empty still.
        with suppress(ValueError):
            used[name] = cell.cell_contents
    for name, each in used.items():
        yield from _used_by(each, seen)
        yield f"{name}, which {function.__name__} uses", each


def globals_of(code: CodeType) -> Iterator[str]:
    """Yield the names of the module that a function uses, those inside of it too."""
    for step in dis.get_instructions(code):
        if step.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
            yield str(step.argval)
    for constant in code.co_consts:
        # Functions inside of the function.
        if isinstance(constant, CodeType):
            yield from globals_of(constant)
