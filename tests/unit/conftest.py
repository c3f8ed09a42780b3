"""What keeps these tests quick."""

import gc
import itertools
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.clock import Clock

PATCHES = Path(__file__).parents[1] / "patches.toml"
# Many small lists of a test are no reason to look for cycles: Python's own is 700.
N_NEW_OBJECTS = 20_000

# A busy machine may take any time for an example.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# Imports leave a million objects and hardly any garbage, and each look would walk all of them.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(N_NEW_OBJECTS)
    gc.enable()


_numbers = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as pytest's own, without a link to it, which takes longer than many of the tests."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(_numbers)}", numbered=False)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what an upgrade of another project may break, if that was looked at."""
    reports = itertools.chain.from_iterable(terminalreporter.stats.values())
    if any("unit/test_patches.py" in getattr(report, "nodeid", "") for report in reports):
        terminalreporter.section("patches of other projects")
        for file, names in tomllib.loads(PATCHES.read_text(encoding="utf-8")).items():
            terminalreporter.write_line(f"{file}: {', '.join(names)}")
