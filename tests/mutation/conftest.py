"""Options of the suite."""

from __future__ import annotations

import pytest

from tests.mutation.modules import BY_NAME, MODULES


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --module."""
    parser.addoption(
        "--module",
        action="append",
        choices=sorted(BY_NAME),
        help="mutate only this module; may be given several times",
    )
    parser.addoption(
        "--sample",
        type=int,
        default=15,
        metavar="N",
        help="try at most N mutants of each module; 0 tries all; default: %(default)s",
    )


@pytest.fixture(scope="session")
def n_most(request: pytest.FixtureRequest) -> int:
    """Most mutants of a module that are tried; 0 for all."""
    n_most: int = request.config.getoption("--sample")
    return n_most


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each module that was asked for."""
    if "module" not in metafunc.fixturenames:
        return
    names = metafunc.config.getoption("--module")
    modules = [BY_NAME[name] for name in names] if names else list(MODULES)
    metafunc.parametrize("module", modules, ids=lambda module: module.name)
