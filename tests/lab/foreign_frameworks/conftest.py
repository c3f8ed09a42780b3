"""Options of the suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --fresh."""
    parser.addoption(
        "--fresh",
        action="store_true",
        help="build all environments from the registries, as on a new site",
    )
