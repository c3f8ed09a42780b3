"""Docstrings of installed packages: a text that is on every node, with an answer to each part."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from zlib import crc32

PACKAGES = ("matplotlib", "numpy", "pandas", "scipy", "sklearn", "torch")
_FEWEST_CHARACTERS, _MOST_CHARACTERS = 40, 300


def read_docstrings(
    packages: Sequence[str] = PACKAGES, n_each: int = 1_000
) -> list[dict[str, str]]:
    """Return the beginnings of docstrings, each with its package and the file that it is from.

    Nothing is imported. Tests are left out, and a text that was seen before.

    Args:
        packages: Names to import.
        n_each: At most so many of each, from files all over the package, the same each time.
    """
    seen: set[str] = set()
    found = []
    for package in packages:
        new = ((file, text) for file, text in _texts(package) if text not in seen)
        for file, text in islice(new, n_each):
            seen.add(text)
            found.append({"text": text, "package": package, "file": f"{package}/{file}"})
    return found


def _texts(package: str) -> Iterator[tuple[str, str]]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"This kernel has no {package}. Leave it out of `packages`.")
    folder = Path(spec.origin).parent
    files = (path for path in folder.rglob("*.py") if "tests" not in path.parts)
    for path in sorted(files, key=lambda path: crc32(path.relative_to(folder).as_posix().encode())):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = " ".join((ast.get_docstring(node) or "").split())[:_MOST_CHARACTERS]
                if len(text) >= _FEWEST_CHARACTERS:
                    yield path.relative_to(folder).as_posix(), text
