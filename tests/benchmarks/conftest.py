"""Benchmarks begin on a quiet machine, or not at all."""

from __future__ import annotations

import pytest

from tests.benchmarks.machine import expect_quiet


@pytest.fixture(scope="session", autouse=True)
def quiet_machine() -> None:
    expect_quiet()
