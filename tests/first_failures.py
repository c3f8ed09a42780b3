"""A plugin beside pytest-rerunfailures: a second try says why the first one failed."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.results import FIRST_FAILURE, last_lines
from tests.second_tries import MOST

_n_failed = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the reason of a failure for the report of the second try; end the tries after MOST."""
    report = yield
    if report.failed:
        item.user_properties.append((FIRST_FAILURE, last_lines(report.longreprtext)))
        stash = item.config.stash
        stash[_n_failed] = stash.get(_n_failed, 0) + 1
        if stash[_n_failed] >= MOST:
            item.config.option.reruns = 0
    return report
