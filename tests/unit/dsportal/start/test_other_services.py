from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import pytest

from dsportal.start.other_services import Finder


@pytest.fixture(autouse=True)
def finder() -> Iterator[None]:
    finder = Finder()
    sys.meta_path.append(finder)
    yield
    sys.meta_path.remove(finder)


@pytest.mark.parametrize(
    ("name", "step"), [("google.colab", "drag files"), ("kaggle_secrets", "into a file of yours")]
)
def test_imports_of_other_services_fail_with_what_to_do_here(name: str, step: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=step):
        importlib.import_module(name)


def test_other_imports_fail_as_before() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_module'$"):
        importlib.import_module("no_such_module")
