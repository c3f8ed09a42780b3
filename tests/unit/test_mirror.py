"""The tests of a module are found where the module is: spawner/slurm/jobs.py in
tests/unit/spawner/slurm/test_jobs.py, or in tests/programs where they start programs."""

import ast
import tomllib
from fnmatch import fnmatch
from pathlib import Path

TESTS_DIR = Path(__file__).parents[1]
CHECKOUT = TESTS_DIR.parent
# The folder of each package; that of `dsportal` is a project of its own.
HOMES = {"dsportal": CHECKOUT / "portal/dsportal"}
# Tests of no single module, and what they are about.
OF_SEVERAL = {
    "unit/test_docstrings.py": "a rule for all modules",
    "unit/test_imports.py": "a rule for all modules",
    "unit/test_mirror.py": "a rule for these tests",
    "unit/test_patches.py": "a rule for all modules",
    "unit/deploy/one_machine/test_texts.py": "the configuration files of all steps",
    "unit/portal/site/checks/test_judgements.py": "what each check makes of what it saw",
    "unit/spawner/test_golden.py": "what a real Slurm printed, read by all parsers",
    "programs/test_packaging.py": "the wheel that is made of all packages",
    "programs/deploy/one_machine/test_ownership.py": "what is the machine's own stays",
    "programs/deploy/test_containerfile.py": "what the steps of the Containerfile copy",
    "unit/docs/test_guides.py": "links and commands in all guides",
    "unit/docs/test_commands_of_guides.py": "commands in all guides",
    "unit/tests/lab/benchmarks/test_names.py": "a rule for all benchmarks",
    "unit/portal/hub/settings/test_defaults.py": "a rule for all settings",
    "programs/portal/server/test_hub_metrics.py": "a rule for all modules of portal.server",
}
TESTS = sorted(
    str(path.relative_to(TESTS_DIR))
    for folder in ("unit", "programs")
    for path in (TESTS_DIR / folder).rglob("test_*.py")
)


def is_of_a_module(test: str) -> bool:
    """Whether the test file has the place and the name of a module, a program or a folder."""
    parts = Path(test).parts[1:]
    path = HOMES.get(parts[0], CHECKOUT).joinpath(*parts)
    tested = path.with_name(path.stem.removeprefix("test_"))
    return tested.exists() or tested.with_suffix(".py").is_file()


def test_a_file_of_tests_has_the_place_and_the_name_of_what_it_tests() -> None:
    """Put a file where its module is, under the same name, or into OF_SEVERAL."""
    lost = [test for test in TESTS if test not in OF_SEVERAL and not is_of_a_module(test)]

    assert TESTS
    assert lost == []


def test_only_files_of_several_modules_are_excepted() -> None:
    assert [test for test in OF_SEVERAL if test not in TESTS or is_of_a_module(test)] == []


def modules() -> dict[str, Path]:
    """Return the modules of the product with code in them."""
    folders = (CHECKOUT / name for name in ("spawner", "portal", "deploy"))
    found = (path for folder in folders for path in folder.rglob("*.py"))
    return {
        ".".join(in_package(path).with_suffix("").parts): path
        for path in found
        if path.name != "__init__.py"
        # Of whoever builds the labextension in this checkout.
        and "node_modules" not in path.parts
    }


def in_package(path: Path) -> Path:
    """Return a module's path from the folder that its package is in."""
    homes = (home for home in HOMES.values() if path.is_relative_to(home))
    return path.relative_to(next(homes, CHECKOUT))


def imported_by_tests() -> set[str]:
    names: set[str] = set()
    for path in TESTS_DIR.rglob("test_*.py"):
        if "output" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def has_own_file(path: Path) -> bool:
    mirrored = in_package(path)
    names = (f"test_{path.name}", f"test_{path.parent.name}.py")
    return any(
        (TESTS_DIR / suite / place / name).exists()
        for suite in ("unit", "programs")
        for place, name in zip((mirrored.parent, mirrored.parent.parent), names, strict=True)
    )


def test_each_module_has_tests_or_a_line_that_says_which_test_holds_it() -> None:
    lines = tomllib.loads((TESTS_DIR / "held_by.toml").read_text())
    imported = imported_by_tests()
    alone = {m for m, path in modules().items() if not has_own_file(path) and m not in imported}

    assert [m for m in sorted(alone) if not any(fnmatch(m, pattern) for pattern in lines)] == []
    assert [p for p in lines if not any(fnmatch(m, p) for m in alone)] == []
    assert [test for test in lines.values() if not (TESTS_DIR / test).exists()] == []
