"""Options of the suite."""

import pytest

from tests.lab.mutation.modules import BY_NAME, MODULES
from tests.lab.mutation.sampled_mutmut import HELD_OUT, N_MOST, Sample


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --module, --sample and --held-out."""
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
    parser.addoption(
        HELD_OUT,
        action="store_true",
        help="try others than those of the usual sample, for which tests have been written; their "
        "score becomes a figure of its own",
    )


@pytest.fixture(scope="session")
def sample(request: pytest.FixtureRequest) -> Sample:
    """Which mutants of a module are tried."""
    options = request.config
    return Sample(n_most=options.getoption("--sample"), is_held_out=options.getoption(HELD_OUT))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each module that was asked for."""
    if "module" not in metafunc.fixturenames:
        return
    names = metafunc.config.getoption("--module")
    modules = [BY_NAME[name] for name in names] if names else list(MODULES)
    metafunc.parametrize("module", modules, ids=lambda module: module.name)
