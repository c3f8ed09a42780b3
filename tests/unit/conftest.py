"""The collector of reference cycles leaves alone what was imported and collected."""

from __future__ import annotations

import gc

import pytest

# Many small lists of a test are no reason to look for cycles: Python's own is 700.
N_NEW_OBJECTS = 20_000

# Imports leave a million objects and hardly any garbage, and each look would walk all of them.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(N_NEW_OBJECTS)
    gc.enable()
