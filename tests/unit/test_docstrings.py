"""Everything public says what goes in, what comes out, what can go wrong and why a rule holds."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("spawner", "portal", "deploy")
READS_WHAT_PEOPLE_WRITE = {"options", "script"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class PublicFunction:
    """A function that others may call, and where it stands."""

    place: str
    node: Function
    is_method: bool

    @property
    def docstring(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def arguments(self) -> list[str]:
        spec = self.node.args
        names = [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
        is_bound = self.is_method and "staticmethod" not in _decorators(self.node)
        extra = [a.arg for a in (spec.vararg, spec.kwarg) if a is not None]
        given = [*names[1 if is_bound else 0 :], *extra]
        return [name for name in given if not name.startswith("_")]

    @property
    def returns_something(self) -> bool:
        return ast.unparse(self.node.returns or ast.Constant(None)) not in {"None", "NoReturn"}

    @property
    def is_generator(self) -> bool:
        return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in _own_nodes(self.node))

    @property
    def raised(self) -> set[str]:
        """Names of the errors that the function itself raises by name."""
        calls = (n.exc for n in _own_nodes(self.node) if isinstance(n, ast.Raise) and n.exc)
        functions = (c.func if isinstance(c, ast.Call) else c for c in calls)
        return {
            ast.unparse(f).rpartition(".")[2] for f in functions if ast.unparse(f)[-1:].isalpha()
        }


def _decorators(node: Function) -> list[str]:
    return [ast.unparse(d) for d in node.decorator_list]


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield what belongs to a function itself, not to one defined inside it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


@functools.cache
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def _project_classes() -> set[str]:
    trees = (_tree(path.read_text()) for path in _modules())
    return {n.name for tree in trees for n in tree.body if isinstance(n, ast.ClassDef)}


def _modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (CHECKOUT / package).rglob("*.py"))


def _is_ours(node: ast.ClassDef, ours: set[str]) -> bool:
    """Methods of other bases mean what the base's own documentation says."""
    plain = {"Protocol", "Generic", "Enum", "StrEnum", "NamedTuple"}
    bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
    return bases <= ours | plain | set(vars(builtins))


def public_functions(text: str, place: str, ours: set[str]) -> Iterator[PublicFunction]:
    """Yield the public functions of a module and the public methods of its own classes."""
    for node in _tree(text).body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield PublicFunction(f"{place}:{node.lineno} {node.name}", node, is_method=False)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            methods = (n for n in node.body if isinstance(n, Function) and _is_ours(node, ours))
            for method in methods:
                if not method.name.startswith("_"):
                    name = f"{place}:{method.lineno} {node.name}.{method.name}"
                    yield PublicFunction(name, method, is_method=True)


def missing_sections(function: PublicFunction) -> list[str]:
    """Return the sections that the docstring of a function should have and has not."""
    decorators = _decorators(function.node)
    if any(d.endswith((".setter", "overload", "override")) for d in decorators):
        return []
    # "Return the name." says it all where there is nothing to add.
    is_said = any(d.endswith("property") for d in decorators) or (
        not function.arguments and function.docstring.startswith(("Return ", "Yield "))
    )
    wanted = {
        "Args": bool(function.arguments),
        "Yields": function.is_generator and not is_said,
        "Returns": function.returns_something and not function.is_generator and not is_said,
        "Raises": bool(function.raised),
    }
    lines = [line.strip() for line in function.docstring.splitlines()]
    missing = [name for name, is_wanted in wanted.items() if is_wanted and f"{name}:" not in lines]
    unnamed = {name for name in function.arguments if f"{name}:" not in function.docstring}
    if "Args" not in missing and unnamed:
        missing.append(f"Args: {', '.join(sorted(unnamed))}")
    return missing


def gaps(path: Path, ours: set[str]) -> list[str]:
    place = str(path.relative_to(CHECKOUT))
    found = public_functions(path.read_text(), place, ours)
    return [f"{f.place}: {', '.join(gap)}" for f in found if (gap := missing_sections(f))]


def test_public_functions_document_arguments_results_and_errors() -> None:
    ours = _project_classes()

    found = [gap for path in _modules() for gap in gaps(path, ours)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("def f(a: int) -> None:\n    '''Do.'''", ["Args"]),
        ("def f() -> int:\n    '''Do.'''\n    return 1", ["Returns"]),
        ("def f() -> None:\n    '''Do.'''\n    raise OSError(1)", ["Raises"]),
        ("def f() -> Iterator[int]:\n    '''Do.'''\n    yield 1", ["Yields"]),
        ("def f(a, b) -> None:\n    '''Do.\n\n    Args:\n        a: One.\n    '''", ["Args: b"]),
        ("def f() -> None:\n    '''Do.'''\n    def g():\n        raise OSError(1)", []),
    ],
)
def test_a_gap_is_seen(source: str, missing: list[str]) -> None:
    (function,) = public_functions(source, "sample.py", set())

    assert missing_sections(function) == missing


def test_whatever_reads_text_of_slurm_says_where_its_form_is_described() -> None:
    silent = []
    modules = {path for path in _modules() if path.parent.name == "spawner"}
    for path in sorted(path for path in modules if path.stem not in READS_WHAT_PEOPLE_WRITE):
        text = path.read_text()
        parsers = [
            f for f in public_functions(text, path.name, set()) if f.node.name.startswith("parse_")
        ]
        module = ast.get_docstring(_tree(text)) or ""
        silent += [f.place for f in parsers if "Source:" not in f.docstring + module]

    assert silent == []


def test_every_setting_of_an_operator_has_a_help_text() -> None:
    silent = [
        f"{path.relative_to(CHECKOUT)}:{call.lineno}"
        for path in _modules()
        for call in ast.walk(_tree(path.read_text()))
        if _is_configurable_trait(call) and not _has_help(call.func.value)
    ]

    assert silent == []


def _is_configurable_trait(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "tag"
        and any(word.arg == "config" for word in node.keywords)
    )


def _has_help(trait: ast.expr) -> bool:
    return isinstance(trait, ast.Call) and any(word.arg == "help" for word in trait.keywords)
