"""How mutmut's results are read, with made-up files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.mutation.equivalents import Change
from tests.mutation.modules import BY_NAME, MODULES, MutatedModule
from tests.mutation.mutants import (
    CHECKOUT,
    Mutant,
    MutationError,
    Outcome,
    is_enough,
    read_mutants,
    read_outcome,
    run_mutants,
    settings_of,
)
from tests.mutation.sampled_mutmut import Sample

LIMITS = BY_NAME["limits"]
MUTATED = """\
from __future__ import annotations

class Limits:
    def xǁLimitsǁmost__mutmut_orig(self):
        known = [1,
            2]
        return min(known)
    def xǁLimitsǁmost__mutmut_1(self):
        known = None
        return min(known)

def x_joined__mutmut_orig(a):
    return a + 1
def x_joined__mutmut_1(a):
    return a - 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    mutated = tmp_path / "mutants" / LIMITS.path
    mutated.parent.mkdir(parents=True)
    mutated.write_text(MUTATED)
    codes = {
        "spawner.options.limits.xǁLimitsǁmost__mutmut_1": 0,
        "spawner.options.limits.x_joined__mutmut_1": 1,
    }
    mutated.with_name("limits.py.meta").write_text(json.dumps({"exit_code_by_key": codes}))
    spans = {
        "xǁLimitsǁmost__mutmut_orig": [4, 7],
        "xǁLimitsǁmost__mutmut_1": [8, 10],
        "x_joined__mutmut_orig": [12, 13],
        "x_joined__mutmut_1": [14, 15],
    }
    mutated.with_name("limits.py.spans").write_text(json.dumps({"spans": spans}))
    return tmp_path


def test_each_mutant_says_what_it_changes_and_how_it_ended(folder: Path) -> None:
    assert read_mutants(LIMITS, folder) == [
        Mutant(
            name="spawner.options.limits.xǁLimitsǁmost__mutmut_1",
            change=Change("Limits.most", "known = [1, 2]", "known = None"),
            outcome=Outcome.SURVIVED,
        ),
        Mutant(
            name="spawner.options.limits.x_joined__mutmut_1",
            change=Change("joined", "return a + 1", "return a - 1"),
            outcome=Outcome.KILLED,
        ),
    ]


@pytest.mark.parametrize(
    ("exit_code", "outcome"),
    [
        (0, Outcome.SURVIVED),
        (1, Outcome.KILLED),
        (3, Outcome.KILLED),
        (5, Outcome.NO_TESTS),
        (33, Outcome.NO_TESTS),
        (-24, Outcome.TIMED_OUT),
        (36, Outcome.TIMED_OUT),
        (2, Outcome.NOT_RUN),
        (255, Outcome.NOT_RUN),
        (None, Outcome.NOT_RUN),
    ],
)
def test_an_exit_status_says_how_a_mutant_ended(exit_code: int | None, outcome: Outcome) -> None:
    assert read_outcome(exit_code) is outcome


def test_mutmut_is_told_one_module_and_its_own_tests() -> None:
    settings = tomllib.loads(settings_of(LIMITS, 5.0))["tool"]["mutmut"]

    assert settings["only_mutate"] == ["spawner/options/limits.py"]
    tests = settings["pytest_add_cli_args_test_selection"]
    assert tests == ["tests/unit/spawner/options/test_limits.py"]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_the_modules_that_are_mutated_and_their_tests_exist(module) -> None:
    assert [path for path in (module.path, *module.tests) if not (CHECKOUT / path).is_file()] == []


def test_a_module_whose_environment_is_missing_is_not_counted_as_untested() -> None:
    module = MutatedModule("portal/dsportal/dsportal/data/shards.py", (), environment="none-such")

    with pytest.raises(MutationError, match=r"environment none-such\. Run deploy/up"):
        run_mutants(module, Sample(), lambda n_done, n_all: None)


def test_each_module_is_named_differently() -> None:
    assert len(BY_NAME) == len(MODULES)


@pytest.mark.parametrize(
    ("n_done", "n_most", "is_it"),
    [(40, 40, True), (40, 25, True), (25, 40, False), (40, 0, False), (0, 40, True), (0, 0, True)],
)
def test_a_smaller_sample_needs_no_further_run(n_done: int, n_most: int, is_it: bool) -> None:
    assert is_enough(n_done, n_most) is is_it
