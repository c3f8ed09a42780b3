"""Horovod's cycle time on cores, chosen from the first steps of a training."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, MutableMapping

from ..task.environment import CHOOSE_CYCLE_VARIABLE

# Frameworks still compile and allocate in the first steps.
N_WARMUP_STEPS = 2
N_STEPS_SEEN = 3
LONG_STEP_S = 1.0
LONG_STEP_CYCLE_TIME_MS = 20


class CycleTimeChoice:
    """Lengthens Horovod's cycle once if steps take a second or more.

    A short cycle averages the gradients of a short step without delay. In a long step nobody
    notices the delay, and Horovod's thread should leave the core to the training.

    Horovod reads its cycle time only at its start, so it is started again, between two steps.

    Args:
        environ: Environment of the rank; it says whether there is a choice.
        clock: Seconds of a clock that never goes back.
    """

    def __init__(
        self, environ: MutableMapping[str, str], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._environ = environ
        self._clock = clock
        self._began_s: list[float] = []

    def begin_step(
        self, average: Callable[[float], float], start_again: Callable[[], object]
    ) -> None:
        """Note that a step begins; after some steps choose. All ranks call it at the same step.

        Args:
            average: Takes the seconds of a step on this rank, returns the average over all ranks.
            start_again: Starts Horovod again, with the cycle time of the environment.
        """
        if CHOOSE_CYCLE_VARIABLE not in self._environ:
            return
        self._began_s.append(self._clock())
        if len(self._began_s) <= N_WARMUP_STEPS + N_STEPS_SEEN:
            return
        del self._environ[CHOOSE_CYCLE_VARIABLE]
        seen = self._began_s[N_WARMUP_STEPS:]
        steps_s = [after - before for before, after in itertools.pairwise(seen)]
        # The same number on every rank, so that none starts again alone.
        if average(statistics.median(steps_s)) >= LONG_STEP_S:
            self._environ["HOROVOD_CYCLE_TIME"] = str(LONG_STEP_CYCLE_TIME_MS)
            start_again()
