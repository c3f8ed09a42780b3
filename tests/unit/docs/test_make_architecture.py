"""The page on the architecture shows the rooms as they are."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
PAGE = CHECKOUT / "docs/develop/architecture.md"


def test_the_drawings_are_of_todays_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run "python docs/make_architecture.py" after a change of imports."""
    spec = importlib.util.spec_from_file_location(
        "make_architecture", CHECKOUT / "docs" / "make_architecture.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Where dataclasses look for the module that they are in.
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    page = PAGE.read_text(encoding="utf-8")

    assert [part for part in module.PARTS if f"make_architecture.py: {part} -->" not in page] == []
    assert page == module.render(page)


def test_each_module_that_the_page_names_is_there() -> None:
    named = re.findall(r"`((?:spawner|portal)/[a-z_/]+)`", PAGE.read_text(encoding="utf-8"))

    assert named
    assert [n for n in named if not list(CHECKOUT.glob(f"{n}*"))] == []
