"""The modules of the checkout as trees, each read once for all tests that look at them."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

# The fields that hold statements, and what holds them: the handlers of try, the cases of match.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """Return a module's tree, which must not be changed."""
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(
    tree: ast.AST, *, without_types: bool = False, without_functions: bool = False
) -> Iterator[ast.AST]:
    """Yield a module or a statement and all statements in it, however deep they stand.

    No expression holds a statement, and expressions are most of a tree: to go through all of its
    nodes takes many times as long.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if without_functions and node is not tree and isinstance(node, _FUNCTIONS):
            continue
        only_else = without_types and isinstance(node, ast.If) and _is_for_types(node)
        for block in ("orelse",) if only_else else _BLOCKS:
            waiting.extend(getattr(node, block, ()))


def _is_for_types(node: ast.If) -> bool:
    return ast.unparse(node.test) == "TYPE_CHECKING"
