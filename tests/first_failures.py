"""A plugin beside pytest-rerunfailures: the report of the second try says why the first failed."""

from collections.abc import Generator

import pytest

from tests.results import FIRST_FAILURE, last_lines

_reasons: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the reason of a failure that leads to a second try."""
    if report.outcome == "rerun":
        _reasons.setdefault(report.nodeid, last_lines(report.longreprtext))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give it to the report of that try."""
    report = yield
    if item.nodeid in _reasons:
        report.user_properties.append((FIRST_FAILURE, _reasons[item.nodeid]))
    return report
