"""What is mutated moves, and nobody runs the suite at each change."""

import pytest

from tests.lab.mutation.modules import BY_NAME, MODULES, MutatedModule
from tests.lab.mutation.mutants import CHECKOUT


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_the_modules_that_are_mutated_and_their_tests_exist(module: MutatedModule) -> None:
    assert [path for path in (module.path, *module.tests) if not (CHECKOUT / path).is_file()] == []


def test_each_is_chosen_by_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(MODULES)
