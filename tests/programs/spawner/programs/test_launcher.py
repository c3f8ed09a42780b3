"""The one program that sudo allows, started as sudo starts it; tests/unit has what it answers."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from spawner.programs import launcher

PROGRAM = Path(launcher.__file__)


@pytest.mark.parametrize("stdin", ["", "{", "[]", '"submit"', "null", "\xff"])
def test_what_is_no_json_object_gets_an_answer_and_no_traceback(stdin: str) -> None:
    done = subprocess.run(
        [sys.executable, "-IS", str(PROGRAM)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )

    answer = json.loads(done.stdout)
    assert answer["ok"] is False
    assert answer["stderr"].startswith("dsportal-launcher: ")
    assert done.stderr == ""


def test_it_needs_nothing_but_pythons_own_library() -> None:
    tree = ast.parse(PROGRAM.read_text())
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if not isinstance(node, ast.ImportFrom) or node.module
    }

    assert imported <= sys.stdlib_module_names
