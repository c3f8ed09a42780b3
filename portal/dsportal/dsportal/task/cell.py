"""A cell of a notebook as something that ranks can run."""

import ast
import builtins
import linecache
from collections.abc import Mapping
from typing import Any

from dsportal.errors import LaunchError

FILE_NAME = "<cell of %%ranks>"
# Names that IPython puts into the namespace of a notebook.
_OF_IPYTHON = frozenset({"In", "Out", "get_ipython", "exit", "quit", "open", "display"})


def cell_names(source: str, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a cell uses of its notebook's namespace, by name.

    Functions bring what they use themselves. In `namespace` there are modules too.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise LaunchError(
            f"Ranks run plain Python, and line {error.lineno} of the cell is none: {error.msg}. "
            "Put lines that begin with % or ! into a cell of their own."
        ) from error
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    # The rank has builtins of its own.
    used -= _OF_IPYTHON | set(dir(builtins))
    return {
        name: namespace[name]
        for name in sorted(used)
        # Such as _ and _12, in which IPython keeps results.
        if name in namespace and not name.startswith("_")
    }


def run_cell(source: str, names: dict[str, Any]) -> object:
    """Return the value of a cell's last line if that is an expression, as in a notebook.

    A value that cannot be sent back, such as a model, comes back as its text. Runs on a rank, with
    the `names` that `cell_names` found.
    """
    # So that a traceback can show lines of the cell, which is in no file.
    linecache.cache[FILE_NAME] = (len(source), None, source.splitlines(keepends=True), FILE_NAME)
    tree = ast.parse(source)
    namespace = {"__name__": "__main__", **names}
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, FILE_NAME, "exec"), namespace)  # noqa: S102
        return None
    # The last line is evaluated by itself: `exec` returns nothing.
    del tree.body[-1]
    exec(compile(tree, FILE_NAME, "exec"), namespace)  # noqa: S102
    expression = compile(ast.Expression(last.value), FILE_NAME, "eval")
    return _sendable(eval(expression, namespace))  # noqa: S307


def _sendable(value: object) -> object:
    import cloudpickle

    try:
        # Whether it can be sent shows only in trying.
        cloudpickle.dumps(value)
    except Exception:
        return repr(value)
    return value
