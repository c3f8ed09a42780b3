"""No statement is overlooked by tests that look at source code."""

import ast
from pathlib import Path

from tests.support.source_code import statements, tree_of

TEXT = """
if TYPE_CHECKING:
    pass
else:
    x = 0
async def f():
    for _ in (): x = 1
    else: x = 2
    while 1: x = 3
    try: x = 4
    except A: x = 5
    else: x = 6
    finally: x = 7
    try: x = 8
    except* A: x = 9
    async with a: x = 10
    match a:
        case 1: x = 11
    def g(): x = 12
class C:
    x = 13
    def g(self): x = 14
"""


def numbers(nodes) -> list[int]:
    return sorted(node.value.value for node in nodes if isinstance(node, ast.Assign))


def test_statements_are_found_wherever_they_can_stand() -> None:
    assert numbers(statements(ast.parse(TEXT))) == list(range(15))


def test_all_nodes_of_a_real_module_that_are_statements_are_among_them() -> None:
    tree = tree_of(Path(__file__))

    assert {n for n in ast.walk(tree) if isinstance(n, ast.stmt)} <= set(statements(tree))


def test_functions_inside_and_what_is_for_types_can_be_left_out() -> None:
    (function,) = (n for n in ast.parse(TEXT).body if isinstance(n, ast.AsyncFunctionDef))
    passed = [n for n in statements(ast.parse(TEXT), without_types=True) if isinstance(n, ast.Pass)]

    assert numbers(statements(function, without_functions=True)) == list(range(1, 12))
    assert passed == []
