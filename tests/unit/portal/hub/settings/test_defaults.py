"""Each default stands once, in the line of its setting."""

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from portal.hub.settings.loader import TABLES
from portal.hub.settings.reference import NAMED_TABLES
from spawner.options.traits import SiteTraits

CHECKOUT = Path(__file__).parents[4]
ROOMS = ("spawner/settings", "portal/settings", "portal/hub/settings")
# Neither is a choice of ours: a feature that is off, and the ports that need no rights.
NEUTRAL = {0, 1024, 65535}
# Where constructors call a setting something else.
OTHER_NAMES = {"waiting_s", "running_s", "asks_per_minute", "fresh_s", "walltime_s"}
KEYS = {
    *(key.name for cls in (*TABLES.values(), *NAMED_TABLES.values()) for key in fields(cls)),
    *SiteTraits.class_trait_names(config=True),
    *OTHER_NAMES,
} - {
    # Words of other things, too: how long a program or a request may take.
    "timeout_s"
}


def _is_number(node: ast.expr | None) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return (
        isinstance(node, ast.Constant)
        and type(node.value) in {int, float}
        and node.value not in NEUTRAL
    )


def _trait_default(node: ast.expr | None) -> ast.expr | None:
    """Return the first argument of `Integer(...)` or `Integer(...).tag(...)`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in {"Integer", "Float", "Bool"}:
            return node.args[0] if node.args else None
        node = node.func.value if isinstance(node.func, ast.Attribute) else None
    return None


def literal_defaults(text: str) -> Iterator[str]:
    """Yield the settings that a module gives a number of its own as their default."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            with_default = (node.args.posonlyargs + node.args.args)[-len(node.args.defaults) :]
            pairs = [
                *(zip(with_default, node.args.defaults, strict=True) if node.args.defaults else ()),
                *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
            ]
            yield from (a.arg for a, value in pairs if a.arg in KEYS and _is_number(value))
        elif isinstance(node, ast.ClassDef):
            for line in node.body:
                target = line.target if isinstance(line, ast.AnnAssign) else None
                if isinstance(line, ast.Assign):
                    target = line.targets[0]
                value = line.value if isinstance(line, ast.AnnAssign | ast.Assign) else None
                is_own = _is_number(value) or _is_number(_trait_default(value))
                if is_own and isinstance(target, ast.Name) and target.id in KEYS:
                    yield target.id


@pytest.mark.parametrize(
    "text",
    [
        "def f(*, cores_per_gpu: int = 8): ...",
        "def f(x, slurm_warning_s=10 * 60): ...",
        "class A:\n    idle_minutes: float = 60.0",
        "class A:\n    port_min = Integer(30000, min=1024).tag(config=True)",
    ],
)
def test_a_default_of_its_own_is_seen(text: str) -> None:
    assert len(list(literal_defaults(text))) == 1


def test_no_trait_constructor_or_program_has_a_default_of_its_own() -> None:
    homes = {
        CHECKOUT / "spawner/options/traits.py",
        CHECKOUT / "spawner/client/preflight.py",
        *(path for room in ROOMS for path in (CHECKOUT / room).glob("*.py")),
    }
    paths = [
        path
        for folder in ("spawner", "portal", "deploy/one_machine")
        for path in (CHECKOUT / folder).rglob("*.py")
        if path not in homes
    ]

    found = {
        f"{path.relative_to(CHECKOUT)}: {name}"
        for path in paths
        for name in literal_defaults(path.read_text(encoding="utf-8"))
    }
    assert found == set()
