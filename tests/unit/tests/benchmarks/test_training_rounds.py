"""What the training benchmark times begins when the portal has chosen Horovod's cycle time."""

from __future__ import annotations

from portal.launch.worker import cycle_time
from tests.benchmarks import training_rounds


def test_the_choice_is_made_before_the_timed_steps() -> None:
    n_before_choice = cycle_time.N_WARMUP_STEPS + cycle_time.N_STEPS_SEEN

    # The step that begins with the choice is not timed either.
    assert n_before_choice <= training_rounds.N_WARMUP_STEPS
