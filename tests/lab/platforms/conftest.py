"""Options of the suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --whole."""
    parser.addoption(
        "--whole",
        action="store_true",
        help="run what tests/run runs without a name there, too",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes an hour, unless it is asked for."""
    if config.getoption("--whole"):
        return
    hours = [item for item in items if item.get_closest_marker("whole")]
    items[:] = [item for item in items if item not in hours]
    config.hook.pytest_deselected(items=hours)
