"""Options of the suite."""

import pytest

from tests.lab.benchmarks.machine import read_machine
from tests.lab.mutation.modules import BY_NAME, MODULES
from tests.lab.mutation.sampled_mutmut import N_MOST, Sample


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --module and --sample."""
    parser.addoption(
        "--module",
        action="append",
        choices=sorted(BY_NAME),
        help="mutate only this module; may be given several times",
    )
    parser.addoption(
        "--sample",
        type=int,
        default=N_MOST,
        metavar="N",
        help="try at most N mutants of each module; 0 tries all; default: %(default)s",
    )


@pytest.fixture(scope="session")
def sample(request: pytest.FixtureRequest) -> Sample:
    """Which mutants of a module are tried."""
    return Sample(n_most=request.config.getoption("--sample"), seed=read_machine().commit)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each module that was asked for."""
    if "module" not in metafunc.fixturenames:
        return
    names = metafunc.config.getoption("--module")
    modules = [BY_NAME[name] for name in names] if names else list(MODULES)
    metafunc.parametrize("module", modules, ids=lambda module: module.name)
