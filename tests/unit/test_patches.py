"""What the portal replaces, wraps or uses of other projects although it is not meant for it.

tests/patches.toml lists it by file, each with the signature that the original had when the patch
was written. An upgrade that changes one is red here; the file says what to look at then.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.source_code import tree_of
from tests.support.upstream import signature_of

CHECKOUT = Path(__file__).parents[2]
LIST = tomllib.loads((CHECKOUT / "tests/patches.toml").read_text(encoding="utf-8"))
ROOMS = ("spawner/hub/patches", "spawner/node/patches", "portal/server/patches")
# In kernels and ranks, where nothing but the one package is.
ROOMS_OF_KERNELS = ("portal/dsportal/dsportal/start", "portal/dsportal/dsportal/rendezvous")
OWN = {"spawner", "portal", "dsportal", "notebook_templates", "__future__"}
# Python's own, with one underscore by custom.
PUBLIC = {"_exit", "_getframe", "_replace", "_ArgumentGroup", "_create_unverified_context"}
FILES = sorted(
    path
    for part in ("spawner", "portal")
    for path in (CHECKOUT / part).rglob("*.py")
    if path.resolve() == path and "node_modules" not in path.parts
)


def name_of(path: Path) -> str:
    return str(path.relative_to(CHECKOUT))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


@cache
def imports_of(path: Path) -> dict[str, str]:
    """Return what a module imports from other projects, by the name that it has there."""
    found = {}
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return {name: full for name, full in found.items() if full.partition(".")[0] not in OWN}


def upstream_name(node: ast.expr, path: Path) -> str:
    """Return what an expression names in another project, such as "jupyterhub.user.User"; or ""."""
    known = imports_of(path)
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    if isinstance(node, ast.Attribute) and (owner := upstream_name(node.value, path)):
        return f"{owner}.{node.attr}"
    return ""


@cache
def annotations_of(path: Path) -> dict[str, str]:
    """Return the classes of other projects that parameters of a module's functions have."""
    return {
        node.arg: upstream_name(node.annotation, path)
        for node in nodes_of(path)
        if isinstance(node, ast.arg) and node.annotation is not None
    }


def replaced_in(path: Path) -> Iterator[str]:
    """Yield the attributes of other projects' modules and classes that a module sets or wraps."""
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            owner, name = upstream_name(node.value, path), node.attr
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"setattr", "wrap"}
        ):
            owner = upstream_name(node.args[0], path)
            if node.func.id == "wrap":
                owner = owner or annotations_of(path)[ast.unparse(node.args[0])]
            name = ast.literal_eval(node.args[1]) if owner else ""
        else:
            continue
        # What the standard library offers may be set.
        if owner and owner.partition(".")[0] not in sys.stdlib_module_names:
            yield f"{owner}.{name}"


@cache
def own_private_names() -> frozenset[str]:
    """Return the names with an underscore that the portal itself gives."""
    names: set[str] = set()
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and ast.unparse(node.value) == "self"
            ):
                names.add(node.attr)
    return frozenset(names | PUBLIC)


def is_private(name: str) -> bool:
    return bool(re.match("_[^_]", name)) and name not in own_private_names()


def private_names_in(path: Path) -> Iterator[str]:
    """Yield the private names of other projects that a module uses, without their owners."""
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.attr


def overridden_in(path: Path) -> Iterator[str]:
    """Yield the private methods of other projects' classes that classes of a module override."""
    for node in nodes_of(path):
        bases = node.bases if isinstance(node, ast.ClassDef) else []
        for base in filter(None, (upstream_name(base, path) for base in bases)):
            for name in (getattr(each, "name", "") for each in node.body):
                if re.match("_[^_]", name) and has_name(f"{base}.{name}"):
                    yield name


def has_name(full_name: str) -> bool:
    try:
        return signature_of(full_name) is not None
    except LookupError:
        return False


def listed(path: Path) -> set[str]:
    """Return what the list says of a module, by class and name: "User.stop"."""
    return {last_two(name) for name in LIST.get(name_of(path), ())}


def last_two(name: str) -> str:
    return ".".join(name.split(".")[-2:])


def test_what_is_replaced_is_listed_and_lies_in_a_room_for_it() -> None:
    replaced = {path: {last_two(name) for name in replaced_in(path)} for path in FILES}
    unlisted = [f"{name_of(p)}: {n}" for p in FILES for n in sorted(replaced[p] - listed(p))]
    outside = [
        name_of(path)
        for path in FILES
        if replaced[path] and not name_of(path).startswith((*ROOMS, *ROOMS_OF_KERNELS))
    ]

    assert (unlisted, outside) == ([], [])


def test_each_private_name_of_another_project_is_listed() -> None:
    unlisted = [
        f"{name_of(path)}: {name}"
        for path in FILES
        for name in sorted({*private_names_in(path), *overridden_in(path)})
        if name not in {one.rpartition(".")[2] for one in listed(path)}
    ]

    assert unlisted == []


def test_nothing_is_replaced_twice() -> None:
    names = [name for path in FILES for name in set(replaced_in(path))]

    assert sorted(names) == sorted(set(names))


def test_the_list_names_only_what_is_there() -> None:
    lost = [file for file in LIST if not (CHECKOUT / file).is_file()]
    unused = [
        f"{file}: {name}"
        for file in LIST
        if file not in lost
        for name in LIST[file]
        if name.rpartition(".")[2] not in (CHECKOUT / file).read_text(encoding="utf-8")
    ]

    assert (lost, unused) == ([], [])


def test_the_originals_are_as_they_were_when_the_patches_were_written() -> None:
    changed = []
    for file, names in LIST.items():
        for name, written_for in names.items():
            try:
                # None where this machine lacks the environment of a framework.
                is_same = signature_of(name) in {None, written_for}
            except LookupError:
                is_same = False
            if not is_same:
                changed.append(f"read {name} again, and then {file}")

    assert changed == []


@pytest.mark.parametrize("file", [file for file in LIST if "/patches/" in file])
def test_a_patch_says_what_it_was_written_for_and_what_shows_a_change(file: str) -> None:
    text = ast.get_docstring(tree_of(CHECKOUT / file)) or ""
    tests = text.partition("Shown by:")[2].split()

    assert "Source:" in text
    assert tests
    assert [test for test in tests if not (CHECKOUT / test).is_file()] == []
