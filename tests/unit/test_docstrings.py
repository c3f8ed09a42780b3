"""Everything public says what names and types cannot: units, shapes, sources."""

import ast
import builtins
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.source_code import tree_of

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("spawner", "portal", "deploy")
PLAIN_BASES = {"Protocol", "Generic", "Enum", "StrEnum", "NamedTuple", *vars(builtins)}
READS_WHAT_PEOPLE_WRITE = {"job_options", "job_script"}
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
    def arguments(self) -> dict[str, ast.expr | None]:
        spec = self.node.args
        given = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
        is_bound = self.is_method and "staticmethod" not in _decorators(self.node)
        given = [*given[1 if is_bound else 0 :], *(a for a in (spec.vararg, spec.kwarg) if a)]
        return {one.arg: one.annotation for one in given if not one.arg.startswith("_")}

    @property
    def returns_something(self) -> bool:
        return _text(self.node.returns or ast.Constant(None)) not in {"None", "NoReturn"}

    @property
    def is_generator(self) -> bool:
        return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in _own_nodes(self.node))


def _text(node: ast.expr) -> str:
    # Most are one name, and writing out takes longer than all else here.
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def _decorators(node: Function) -> list[str]:
    return [_text(d) for d in node.decorator_list]


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield what belongs to a function itself, not to one defined inside it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _project_classes() -> set[str]:
    trees = (tree_of(path) for path in _modules())
    return {n.name for tree in trees for n in tree.body if isinstance(n, ast.ClassDef)}


@functools.cache
def _modules() -> list[Path]:
    found = (path for package in PACKAGES for path in (CHECKOUT / package).rglob("*.py"))
    return sorted(path for path in found if "node_modules" not in path.parts)


def _is_ours(node: ast.ClassDef, ours: set[str]) -> bool:
    """Methods of other bases mean what the base's own documentation says."""
    bases = {_text(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
    return bases - ours <= PLAIN_BASES


def public_functions(tree: ast.Module, place: str, ours: set[str]) -> Iterator[PublicFunction]:
    """Yield the public functions of a module and the public methods of its own classes."""
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield PublicFunction(f"{place}:{node.lineno} {node.name}", node, is_method=False)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            methods = [n for n in node.body if isinstance(n, Function)]
            for method in methods if _is_ours(node, ours) else ():
                if not method.name.startswith("_"):
                    name = f"{place}:{method.lineno} {node.name}.{method.name}"
                    yield PublicFunction(name, method, is_method=True)


# What a name says of a number: a count, a unit, or what it numbers.
_SAYS_ITS_UNIT = re.compile(
    r"^n_|^(most|least)_n_|(^|_)(s|ms|us|mib|gib|bytes|percent|hours|minutes|days|port|pid|uid|gid|fd|id"
    r"|gpus|cores|nodes|ranks|rank|size|epoch|step|seed|line|number|status|mode|code|signal)$"
)
_NUMBERS = {"int", "float", "int | None", "float | None"}
# Types that tell nothing of what is inside.
_SAYS_NOTHING = re.compile(r"\b(Any|object)\b")


def needs_words(name: str, annotation: ast.expr | None) -> bool:
    """Return whether a name and its type leave a reader to guess what goes in or comes out."""
    kind = _text(annotation) if annotation is not None else "Any"
    if kind in _NUMBERS:
        return not _SAYS_ITS_UNIT.search(name)
    is_plain_tuple = re.fullmatch(r"tuple\[((str|int|float|bool|None)(, | \| )?)+\]", kind)
    return bool(_SAYS_NOTHING.search(kind) or is_plain_tuple)


def missing_sections(function: PublicFunction) -> list[str]:
    """Return what the docstring of a function should say and does not."""
    decorators = _decorators(function.node)
    if any(d.endswith((".setter", "overload", "override")) for d in decorators):
        return []
    docstring = function.docstring
    lines = [line.strip() for line in docstring.splitlines()]
    is_said = any(d.endswith("property") for d in decorators) or docstring.startswith(
        ("Return ", "Yield ", "Whether ")
    )
    # The number of a command is its exit status.
    annotations = [one.annotation for one in function.node.args.args if one.annotation]
    is_command = "argparse.Namespace" in map(_text, annotations)
    is_plain = is_said or is_command
    wants_result = needs_words(function.node.name, function.node.returns) and not is_plain
    missing = [] if docstring else ["a docstring"]
    if function.returns_something and wants_result:
        result = "Yields" if function.is_generator else "Returns"
        missing += [result] if f"{result}:" not in lines else []
    unnamed = sorted(
        name
        for name, annotation in function.arguments.items()
        if needs_words(name, annotation) and not re.search(rf"\b{name}\b", docstring)
    )
    return [*missing, *([f"Args: {', '.join(unnamed)}"] if unnamed else [])]


def gaps(path: Path, ours: set[str]) -> list[str]:
    place = str(path.relative_to(CHECKOUT))
    found = public_functions(tree_of(path), place, ours)
    return [f"{f.place}: {', '.join(gap)}" for f in found if (gap := missing_sections(f))]


def test_public_functions_document_arguments_and_results() -> None:
    ours = _project_classes()

    found = [gap for path in _modules() for gap in gaps(path, ours)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("def f(a: int) -> None:\n    '''Do.'''", ["Args: a"]),
        ("def f(a_s: int, n_b: int, c: Path) -> None:\n    '''Do.'''", []),
        (
            "def f(a: dict[str, Any]) -> None:\n    '''Do.\n\n    Args:\n        a: One.\n    '''",
            [],
        ),
        ("def f() -> int:\n    '''Do.'''\n    return 1", ["Returns"]),
        ("def f() -> int:\n    '''Return the floor.'''\n    return 1", []),
        ("def f() -> Path:\n    '''Do.'''\n    return 1", []),
        ("def f() -> tuple[str, int]:\n    '''Do.'''\n    return 1", ["Returns"]),
        ("def f() -> Iterator[Any]:\n    '''Do.'''\n    yield 1", ["Yields"]),
        ("def f() -> None:\n    pass", ["a docstring"]),
    ],
)
def test_a_gap_is_seen(source: str, missing: list[str]) -> None:
    (function,) = public_functions(ast.parse(source), "sample.py", set())

    assert missing_sections(function) == missing


def test_whatever_reads_text_of_slurm_says_where_its_form_is_described() -> None:
    silent = []
    modules = {path for path in _modules() if CHECKOUT / "spawner" in path.parents}
    for path in sorted(path for path in modules if path.stem not in READS_WHAT_PEOPLE_WRITE):
        tree = tree_of(path)
        parsers = [
            f for f in public_functions(tree, path.name, set()) if f.node.name.startswith("parse_")
        ]
        module = ast.get_docstring(tree) or ""
        silent += [f.place for f in parsers if "Source:" not in f.docstring + module]

    assert silent == []


def test_every_setting_of_an_operator_has_a_help_text() -> None:
    silent = [
        f"{path.relative_to(CHECKOUT)}:{call.lineno}"
        for path in _modules()
        if "tag" in path.read_text()
        for call in ast.walk(tree_of(path))
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
