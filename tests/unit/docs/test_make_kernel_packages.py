"""The users' guide lists what the kernels hold, as the locks have it."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tests.suites import PREFIX
from tests.support.load_file import load_file

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    module = load_file(DOCS / "make_kernel_packages.py")
    module.PLAN = replace(module.PLAN, prefix=PREFIX)
    return module


def test_the_users_guide_has_the_versions_of_the_locks(maker: ModuleType) -> None:
    """Run "python docs/make_kernel_packages.py" after a change of a lock."""
    page = (DOCS / "use/packages.md").read_text(encoding="utf-8")

    assert maker.render(page) == page


def test_only_the_table_is_replaced(maker: ModuleType) -> None:
    page = f"before\n\n{maker.BEGIN}\n| old |\n| table |\n\nafter\n\nend\n"

    assert maker.render(page) == f"before\n\n{maker.BEGIN}\n{maker.table()}\nafter\n\nend\n"


def test_no_row_of_the_table_is_empty(maker: ModuleType) -> None:
    rows = maker.table().splitlines()[2:]

    assert [row for row in rows if not any(digit in row for digit in "0123456789")] == []
