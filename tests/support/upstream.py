"""Other projects' code as it is installed here, read without importing it."""

import ast
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# This environment first, then those beside it, of which a kernel's may be missing.
_PLACES = (
    *(
        place
        for pattern in (Path(sys.prefix).name, "*")
        for place in sorted(Path(sys.prefix).parent.glob(f"{pattern}/lib/python3*/site-packages"))
    ),
    Path(sysconfig.get_path("stdlib")),
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def signature_of(name: str) -> str | None:
    """Return the arguments of a function or method, as its source has them.

    Args:
        name: Its full name, by a module that defines or imports it: "jupyterhub.user.User.stop".

    Returns:
        Empty for what is no function; None if no environment has the project.
    """
    parts = name.split(".")
    for n_parts in range(len(parts) - 1, 0, -1):
        file = _file_of("/".join(parts[:n_parts]))
        if file is not None:
            found = _find(file, *parts[n_parts:])
            if found is None:
                raise LookupError(f"{name}: there is no such name")
            return ast.unparse(found.args) if isinstance(found, _FUNCTIONS) else ""
    if any((place / parts[0]).exists() for place in _PLACES):
        raise LookupError(f"{name}: there is no such module")
    return None


@cache
def _file_of(module: str) -> Path | None:
    files = (place / f for place in _PLACES for f in (f"{module}.py", f"{module}/__init__.py"))
    return next((file for file in files if file.is_file()), None)


@cache
def _nodes_of(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


@cache
def _names_in(file: Path, class_name: str = "") -> dict[str, ast.AST]:
    """Return what defines each name of a module, or of a class in it, however deep it stands."""
    nodes = ast.walk(_names_in(file)[class_name]) if class_name else _nodes_of(file)
    names: dict[str, ast.AST] = {}
    for node in nodes:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            names.setdefault(node.name, node)
        else:
            names |= {name: node for name in _set_by(node) if name not in names}
    return names


@cache
def _find(file: Path, *names: str) -> ast.AST | None:
    """Return what defines a name, the last one, of a module or of a class in it."""
    owner = _names_in(file).get(names[0])
    if owner is None:
        return _imported(file, *names)
    if len(names) == 1:
        return owner
    found = _names_in(file, names[0]).get(names[1])
    for base in owner.bases if isinstance(owner, ast.ClassDef) else ():
        found = found or _find(file, ast.unparse(base).rpartition(".")[2], names[1])
    return found


def _imported(file: Path, *names: str) -> ast.AST | None:
    for node in _nodes_of(file):
        if isinstance(node, ast.ImportFrom) and {names[0], "*"} & {a.name for a in node.names}:
            place = next(place for place in _PLACES if file.is_relative_to(place))
            package = file.relative_to(place).parts[: -node.level] if node.level else ()
            source = _file_of("/".join((*package, *(node.module or "").split("."))).rstrip("/"))
            found = None if source in {None, file} else _find(source, *names)
            if found is not None:
                return found
    return None


def _set_by(node: ast.AST) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Attribute):
            yield target.attr
