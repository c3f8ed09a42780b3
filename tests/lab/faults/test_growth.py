"""Many random starts and stops: nothing is left of them, and what grows is told."""

import contextlib
import time

import pytest

from tests.lab.faults import ledger
from tests.lab.faults.churn import churn, read_usage
from tests.lab.faults.fault import Fault
from tests.lab.faults.results import Record
from tests.lab.faults.stage import Stage

WHOLE_S, QUICK_S, WARM_UP_S = 20 * 60, 2 * 60, 20
CHURN = Fault(
    name="random-starts-and-stops",
    what="",
    strike=lambda _: contextlib.nullcontext(),
    may_lose_queued=True,
)


@pytest.mark.parametrize("fault", [CHURN], ids=lambda fault: fault.name)
def test_random_starts_and_stops_leave_nothing_behind(
    fault: Fault, stage: Stage, record: Record, pytestconfig: pytest.Config
) -> None:
    minutes: float | None = pytestconfig.getoption("--minutes")
    usual_s = QUICK_S if pytestconfig.getoption("--quick") else WHOLE_S
    duration_s = round(usual_s if minutes is None else minutes * 60)
    stage.set_up()
    stage.free_queue()
    stage.clear()
    guests = [*stage.starters, *stage.queued]
    churn(guests, WARM_UP_S, stage.random)
    before = read_usage()

    n_starts = churn(guests, duration_s, stage.random)

    healed_s = time.monotonic()
    ledger.wait_until_well(stage, fault, record)
    record.well_after_s = time.monotonic() - healed_s
    growth = read_usage().growth_since(before)
    record.what = f"{n_starts} random starts and stops in {duration_s // 60} minutes: {growth}"
    print(record.what, flush=True)
    stage.start_again(guests[: len(stage.starters)])
    stage.clear()
    record.is_over = True
