"""What a benchmark says of the machine, and that it does not begin on a busy one."""

from __future__ import annotations

import pytest

from tests.benchmarks import machine
from tests.benchmarks.machine import BusyError, expect_quiet, read_machine, read_times

# Two cores; the last fields are those of guests, which are in user and nice already.
STAT = "cpu  100 10 50 800 20 5 5 10 7 3\ncpu0 50 5 25 400 10 2 3 5 3 2\n"


def test_work_and_waiting_are_told_apart() -> None:
    assert read_times(STAT) == (180, 1000)


@pytest.mark.parametrize(("busy", "is_quiet"), [(5, True), (10, True), (11, False), (100, False)])
def test_a_benchmark_begins_only_while_others_use_a_tenth_at_most(
    monkeypatch: pytest.MonkeyPatch, busy: int, is_quiet: bool
) -> None:
    looks = iter([(0, 0), (busy, 100)])
    monkeypatch.setattr(machine, "read_times", lambda _: next(looks))

    if is_quiet:
        expect_quiet(look_s=0)
    else:
        with pytest.raises(BusyError, match=f"use {busy}% of this machine's processor"):
            expect_quiet(look_s=0)


def test_this_machine_is_described_without_its_name() -> None:
    found = read_machine()

    assert found.cpu
    assert found.n_cores >= 1
    assert found.threads_per_core >= 1
    assert found.memory_gib > 0
