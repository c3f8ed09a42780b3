"""Benchmarks begin on a quiet machine, or not at all."""

import pytest

from tests.lab.benchmarks.machine import expect_quiet
from tests.lab.benchmarks.report import LEAST_ROUNDS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rounds",
        type=int,
        default=LEAST_ROUNDS,
        help="rounds of each comparison; with fewer than the default it is a rehearsal, also on a "
        "busy machine: no aim is asserted, and the report goes to tests/output/benchmarks",
    )


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--rounds", default=LEAST_ROUNDS))


@pytest.fixture(scope="module", autouse=True)
def quiet_machine(rounds: int) -> None:
    if rounds >= LEAST_ROUNDS:
        expect_quiet()
