"""Whether a function of a notebook is still the one that it was."""

import ast
import hashlib
import inspect
import textwrap
from types import FunctionType

from dsportal.task.pickles import globals_of


def source_hash(function: object) -> str:
    """Return a hash of a function's source and of those of its own notebook that it calls.

    Comments and layout do not count. It is "" if Python does not know the source.
    """
    sources: dict[FunctionType, str] = {}
    try:
        _read(function, sources)
    # As of functions in C, and of what was typed where no source is kept.
    except (OSError, TypeError):
        return ""
    return hashlib.sha256("\n".join(sources.values()).encode()).hexdigest()


def _read(function: object, sources: dict[FunctionType, str]) -> None:
    if callable(function):
        function = inspect.unwrap(function)
    if not isinstance(function, FunctionType):
        raise TypeError
    text = textwrap.dedent(inspect.getsource(function))
    try:
        sources[function] = ast.dump(ast.parse(text))
    # Of a lambda it is the line around it, which need not be whole.
    except SyntaxError:
        sources[function] = text
    for name in sorted(globals_of(function.__code__)):
        other = function.__globals__.get(name)
        if not isinstance(other, FunctionType) or other in sources:
            continue
        # What is imported is no cell of the notebook.
        if other.__module__ == function.__module__:
            _read(other, sources)
