"""A training on two nodes loses a rank, a node or the network: its cell says so, and nothing is
left of it."""

import time
from collections.abc import Iterator

import pytest

from tests.lab.faults import ledger
from tests.lab.faults.member import Member
from tests.lab.faults.results import Record
from tests.lab.faults.stage import Stage, output
from tests.lab.faults.training import FAULTS, TRAINED, Training, TrainingFault
from tests.support.eventually import eventually


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_cell_tells_the_truth_and_nothing_is_left(
    fault: TrainingFault, stage: Stage, record: Record
) -> None:
    record.what, record.sessions = fault.what, "1, 2 ranks"
    trainer = stage.holders[0]
    stage.leave_only(trainer)
    training = Training(trainer)
    with fault.strike(training):
        healed_s = time.monotonic()
    shown = training.end()
    print(f"  the cell shows:\n{shown}", flush=True)

    def is_well() -> bool:
        record.wrongs = list(left_over(trainer))
        return not record.wrongs

    eventually(is_well, timeout_s=ledger.WELL_TIMEOUT_S, every_s=0.5)
    record.well_after_s = time.monotonic() - healed_s
    record.wrongs = [f"the cell does not say '{text}'" for text in fault.says if text not in shown]
    if TRAINED not in Training(trainer).end():
        record.wrongs.append("the next training does not run")
    record.is_over = True
    assert not record.wrongs


def left_over(trainer: Member) -> Iterator[str]:
    """Yield a sentence for each thing that the training has left, or taken from the session."""
    n_jobs = len(output("squeue", "-h", "-u", trainer.name, "-o", "%i").split())
    if n_jobs != 1:
        yield f"{trainer.name} has {n_jobs} jobs, not the session's one"
    if not trainer.is_ready() or not trainer.has_variable():
        yield f"{trainer.name} lost his session or his variable"
    yield from ledger.orphans()
    yield from ledger.unowned_gpus()
