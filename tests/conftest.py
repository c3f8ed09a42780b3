"""The CPU time of a suite, another order, and what the portal said after a test that failed."""

import os
import random
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.results import CPU_PROPERTY

LOG_DIR = Path("/var/log/data-scientist-portal")
LOG_NAMES = ("hub", "slurmctld", "node01", "node02")
# Where spawner/programs/launcher.py lets Slurm write what a session's job says.
SESSION_LOGS = "*/.local/state/data-scientist-portal/logs/session-*.log"
N_LINES = 40
N_BYTES = 64_000
# Elsewhere a test may lean on those before it in its file.
ANY_ORDER = {"unit", "programs"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --shuffle."""
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run the files in another order; in unit and programs the tests of a file, too",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the tests, if that is asked for."""
    if config.getoption("--shuffle") is None:
        return
    chance = random.Random(config.getoption("--shuffle"))
    files = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    shuffled = list(files.values())
    chance.shuffle(shuffled)
    for tests in shuffled:
        if ANY_ORDER & set(tests[0].path.parts):
            chance.shuffle(tests)
    items[:] = [test for tests in shuffled for test in tests]


@pytest.fixture(scope="session", autouse=True)
def cpu_time(record_testsuite_property: Callable[[str, object], None]) -> Iterator[None]:
    """Write into the report what collecting, the tests and their programs took."""
    yield
    user_s, system_s, programs_user_s, programs_system_s, _ = os.times()
    total_s = user_s + system_s + programs_user_s + programs_system_s
    record_testsuite_property(CPU_PROPERTY, f"{total_s:.1f}")


def tail(path: Path) -> str:
    """Return the last lines of a log.

    Args:
        path: The log; may be missing.

    Returns:
        At most N_LINES lines, or a sentence about why there are none.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - N_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "\n".join(text.splitlines()[-N_LINES:])


def logs() -> Iterator[Path]:
    """Yield the logs that tell most about a failed test."""
    yield from (LOG_DIR / f"{name}.log" for name in LOG_NAMES)
    sessions = sorted(Path("/home").glob(SESSION_LOGS), key=lambda path: path.stat().st_mtime)
    yield from sessions[-1:]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and item.get_closest_marker("cluster"):
        report.sections += [(f"end of {path}", tail(path)) for path in logs()]
    return report
