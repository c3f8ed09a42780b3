"""What starts kernels runs in any Python from 3.7 on, which `dsportal` itself does not."""

import ast
from pathlib import Path

import pytest

import dsportal.start

MODULES = sorted(Path(dsportal.start.__path__[0]).rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_an_old_python_reads_it(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 7))

    # Python 3.7 evaluates annotations otherwise, and knows no list[int].
    imported = {ast.unparse(node) for node in tree.body if isinstance(node, ast.ImportFrom)}
    arguments = [node for node in ast.walk(tree) if isinstance(node, ast.arg) and node.annotation]
    assert not arguments or "from __future__ import annotations" in imported
    absolute = {
        (getattr(node, "module", None) or node.names[0].name).partition(".")[0]
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0)
    }
    assert not absolute & {"dsportal", "portal", "spawner"}
