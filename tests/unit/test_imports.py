"""Which part may import which: the rules that keep the environments apart."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("spawner", "portal", "notebook_templates")
FRAMEWORKS = ("tensorflow", "keras", "horovod", "torch", "mxnet", "tensorboard")

# A part, and what it must not import.
FORBIDDEN = {
    "spawner": ("portal", "notebook_templates", "deploy", "tests", *FRAMEWORKS),
    "portal": ("deploy", "tests"),
    "portal/hub": ("portal.server", "portal.launch", "notebook_templates", *FRAMEWORKS),
    "portal/server": ("portal.hub", "portal.launch", "batchspawner", "tensorflow", "keras"),
    "portal/environments": ("portal.hub", "portal.server", "portal.launch", "jupyter_server"),
    "portal/packages": ("portal.hub", "portal.server", "portal.launch", "jupyter_server"),
    "portal/launch": ("portal.hub", "portal.server", "spawner", "jupyterhub", "jupyter_server"),
    "portal/data": ("portal.hub", "portal.server", "portal.launch", "spawner", "jupyter_server"),
    "notebook_templates": ("portal.hub", "portal.server", "spawner", "deploy", "tests"),
    "deploy/environments": ("tests", "spawner", "portal", "notebook_templates"),
    "deploy/one_machine": ("tests",),
}
# What portal.launch and portal.data may import: they live in the environments of the frameworks.
OF_A_FRAMEWORK = {
    *("tensorflow", "keras", "horovod", "torch"),
    *("numpy", "cloudpickle", "IPython", "portal"),
}


def imports(text: str, package: str) -> Iterator[str]:
    """Yield the full names that a module imports, whether at its top or in a function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(
                [*(parents if node.level else []), *([node.module] if node.module else [])]
            )
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def modules(folder: str) -> list[Path]:
    return sorted((CHECKOUT / folder).rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    package = ".".join(path.relative_to(CHECKOUT).parent.parts)
    return set(imports(path.read_text(), package))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import deploy.up", "deploy.up"),
        ("def f():\n    from portal import hub", "portal.hub"),
        ("from ..hub.settings import Settings", "portal.hub.settings"),
        ("from . import options", "portal.server.options"),
    ],
)
def test_every_way_to_import_is_seen(text: str, expected: str) -> None:
    assert expected in set(imports(text, "portal.server"))


@pytest.mark.parametrize("part", FORBIDDEN)
def test_a_part_imports_nothing_that_its_environment_lacks(part: str) -> None:
    wrong = [
        f"{path.relative_to(CHECKOUT)} imports {name}"
        for path in modules(part)
        for name in sorted(imports_of(path))
        if any(name == ban or name.startswith(f"{ban}.") for ban in FORBIDDEN[part])
    ]

    assert modules(part)
    assert wrong == []


@pytest.mark.parametrize("part", ["portal/launch", "portal/data"])
def test_training_needs_nothing_but_its_framework(part: str) -> None:
    roots = {name.partition(".")[0] for path in modules(part) for name in imports_of(path)}

    assert roots - OF_A_FRAMEWORK - sys.stdlib_module_names == set()


def test_the_program_that_sudo_allows_needs_only_the_standard_library() -> None:
    roots = {name.partition(".")[0] for name in imports_of(CHECKOUT / "spawner/launcher.py")}

    assert roots - sys.stdlib_module_names == set()


@pytest.mark.parametrize("name", ["start", "note", "overlay"])
def test_what_runs_before_a_kernel_needs_only_the_standard_library(name: str) -> None:
    roots = {one.partition(".")[0] for one in imports_of(CHECKOUT / f"portal/packages/{name}.py")}

    assert roots - sys.stdlib_module_names <= {"portal"}


def test_nothing_is_imported_from_a_folder_that_is_not_installed() -> None:
    roots = {name.partition(".")[0] for p in PACKAGES for m in modules(p) for name in imports_of(m)}

    assert roots & {"deploy", "tests", "docs"} == set()
