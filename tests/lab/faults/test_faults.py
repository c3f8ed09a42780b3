"""The campaign: each fault strikes while users hold, start and wait for sessions."""

import time

import pytest

from tests.lab.faults import answer_faults, ledger, node_faults, portal_faults, slurm_faults
from tests.lab.faults.fault import Fault
from tests.lab.faults.results import Record
from tests.lab.faults.stage import Stage
from tests.lab.faults.watch import watching

FAULTS = (
    *portal_faults.FAULTS,
    *slurm_faults.FAULTS,
    *answer_faults.FAULTS,
    *node_faults.FAULTS,
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_lost_that_need_not_be(fault: Fault, stage: Stage, record: Record) -> None:
    record.what = fault.what
    stage.set_up()
    with watching(stage.holders[-1]) as seen:
        stage.begin_starts()
        with fault.strike(stage):
            healed_s = time.monotonic()
        stage.wait_for_answers()
    record.slowest_s = seen.slowest_s
    for member in stage.starters:
        print(f"  {member.name} was told {member.answer}", flush=True)

    ledger.wait_until_well(stage, fault, record)

    record.well_after_s = time.monotonic() - healed_s
    record.n_refused = sum(not member.server() for member in stage.starters)
    record.n_ended = len(stage.victims)
    record.wrongs = [
        *seen.untrue(),
        *ledger.lies(stage.starters, fault),
        *ledger.untold(stage, fault),
    ]
    stage.start_again(stage.starters)
    stage.free_queue()
    stage.clear()
    record.is_over = True
    assert not record.wrongs
