"""Chooses how often Horovod looks for new gradients, from how long a step takes."""

import math
import os
import time
from collections.abc import Callable, Mapping

CYCLE_VARIABLE = "HOROVOD_CYCLE_TIME"
# Set if the cycle is the portal's own and not the user's.
CHOICE_VARIABLE = "PORTAL_CHOOSES_HOROVOD_CYCLE"
# What each look takes from the training of a rank that has no GPU.
_LOOK_MS = 0.2
_LEAST_MS = 5
_MOST_MS = 100
# What is won by less does not pay for starting Horovod again, which takes half a second.
_WORTH_FACTOR = 4
# The first step includes what TensorFlow prepares.
_N_STEPS = 3


class CycleTime:
    """The cycle of Horovod in one `fit`.

    Args:
        slowest: Returns the largest of the ranks' values; all ranks call it together.
        restart: Starts Horovod again; all ranks call it together.
        read_s: A clock, in seconds.
    """

    def __init__(
        self,
        slowest: Callable[[float], float],
        restart: Callable[[], None],
        read_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._slowest = slowest
        self._restart = restart
        self._read_s = read_s
        self._n_steps = 0
        self._ended_s = 0.0

    def note_step(self) -> None:
        """Note the end of a step; after the third of a `fit`, change the cycle if it pays."""
        self._n_steps += 1
        if self._n_steps > _N_STEPS:
            return
        before_s, self._ended_s = self._ended_s, self._read_s()
        if self._n_steps < _N_STEPS:
            return
        # All ranks have to come to the same decision.
        chosen_ms = best_cycle_ms(self._slowest(self._ended_s - before_s))
        current_ms = float(os.environ[CYCLE_VARIABLE])
        if max(chosen_ms, current_ms) >= _WORTH_FACTOR * min(chosen_ms, current_ms):
            os.environ[CYCLE_VARIABLE] = str(chosen_ms)
            self._restart()


def may_choose(environ: Mapping[str, str]) -> bool:
    """Whether the cycle may be changed: it is not the user's, and nothing else measures it."""
    if environ.get("HOROVOD_TIMELINE") or environ.get("HOROVOD_AUTOTUNE"):
        return False
    return bool(environ.get(CHOICE_VARIABLE)) and CYCLE_VARIABLE in environ


def best_cycle_ms(step_s: float) -> int:
    """Return the cycle that costs a training least.

    Looking takes 0.2 ms of each cycle, and a step waits for the next look at its end: of a step of
    s ms, 0.2 / c + c / s is lost with a cycle of c ms.

    Args:
        step_s: Seconds of a step.
    """
    return round(min(_MOST_MS, max(_LEAST_MS, math.sqrt(_LOOK_MS * 1000 * step_s))))
