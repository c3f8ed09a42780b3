"""How many GPUs are worth using: a minute of measuring in the session, then advice.

from dsportal.probe import probe

probe("resnet50", batch_size=32)
probe(make_step, batch_size=64, images_per_epoch=1_281_167)
"""

import os
import time
from collections.abc import Callable, Sequence

from dsportal.advice import Advice, advise
from dsportal.errors import LaunchError
from dsportal.launch.layout import is_count
from dsportal.launch.session import SessionAllocation, read_session
from dsportal.notebook.runner import run
from dsportal.scaling.study_config import (
    Config,
    Measurement,
    fit_point,
    make_configs,
    summarize,
)
from dsportal.scaling.study_models import measure_for
from dsportal.study import model_name

# Estimate for the first start: ranks build the model and run their first steps. Later starts are
# taken to be as long as the last one.
FIRST_START_S = 12.0
# Points with less time than this are left out, once there are the two that the fit needs.
LEAST_S = 3.0
N_NEEDED = 2

Measure = Callable[[Config, float], Sequence[Sequence[float]]]


def probe(
    train: str | Callable[..., Callable[[], object]],
    *,
    batch_size: int = 32,
    precision: str = "fp32",
    gpus: int | None = None,
    seconds: float = 60.0,
    images_per_epoch: int = 0,
) -> Advice:
    """Measure a training on some of the session's GPUs, and advise how many pay.

    Args:
        train: Name of a model or a function `f(batch_size, precision)`, as for
            `dsportal.study.scaling`.
        batch_size: Images of a step on each rank.
        precision: "fp32" or "mixed".
        gpus: Most GPUs of the session to measure on; None for all of them.
        seconds: Time it may take. One GPU and the largest number are always measured, with at least
            three steps; other numbers as far as the time allows.
        images_per_epoch: Images of one epoch, for GPU hours; 0 leaves them out.

    Returns:
        The advice with its error band; a notebook shows it.
    """
    # Refuses a wrong model before anything is started.
    model_name(train)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0:
        raise LaunchError(f"You asked for seconds={seconds!r}. Give a number above 0, such as 60.")
    n_gpus = _n_gpus(gpus, read_session(os.environ))
    shapes = [f"1x{count}" for count in counts(n_gpus)]
    configs = make_configs(shapes, (batch_size,), (precision,), (0,), "weak")

    def measure(config: Config, budget_s: float) -> Sequence[Sequence[float]]:
        found: Sequence[Sequence[float]] = run(
            measure_for, train, config, budget_s, gpus=config.shape.n_ranks, results="all"
        )
        return found

    points = [fit_point(each) for each in measure_points(configs, seconds, measure)]
    return advise(points, batch_size, images_per_epoch)


def counts(n_gpus: int) -> list[int]:
    """Return the numbers of GPUs to measure on, the most informative first.

    That is 1, the largest, and then the powers of two between them, from the middle outwards.
    """
    between = [2**power for power in range(1, n_gpus.bit_length()) if 2**power < n_gpus]
    middle = n_gpus**0.5
    return [1, n_gpus, *sorted(between, key=lambda count: max(count, middle**2 / count))]


def measure_points(
    configs: Sequence[Config],
    seconds: float,
    measure: Measure,
    clock: Callable[[], float] = time.monotonic,
) -> list[Measurement]:
    """Measure as many configurations as the time allows, two at least.

    Args:
        configs: The most informative first.
        seconds: Time for all of them, including the starts of ranks.
        measure: Takes a configuration and the seconds for its steps, returns the seconds of each
            step for each rank.
    """
    began_s = clock()
    start_s = FIRST_START_S
    found: list[Measurement] = []
    for config in configs:
        point_began_s = clock()
        n_more = len(configs) - len(found)
        left_s = began_s + seconds - point_began_s
        if len(found) >= N_NEEDED and left_s < start_s + LEAST_S:
            print(f"No time is left to measure {config}.", flush=True)
            break
        # What is left is shared evenly by the points that are left.
        steps_of_ranks = measure(config, max(LEAST_S, left_s / n_more - start_s))
        found.append(summarize(config, steps_of_ranks))
        spent_s = clock() - point_began_s
        # Whatever was no step of rank 0 was start.
        start_s = max(0.0, spent_s - sum(steps_of_ranks[0]))
        print(f"{config}: {_figures(found[-1])}", flush=True)
    print(f"{len(found)} points in {clock() - began_s:.0f} s.", flush=True)
    return found


def _figures(measurement: Measurement) -> str:
    return f"{measurement.images_per_s:.1f} images/s in {measurement.n_steps} steps"


def _n_gpus(gpus: object, session: SessionAllocation) -> int:
    wanted = session.n_gpus if gpus is None else gpus
    if session.n_gpus < N_NEEDED:
        raise LaunchError(
            f"A probe measures on 1 and more GPUs, and this session has {session.n_gpus}. Start a "
            "session with 2 GPUs or more, or measure in jobs of their own with "
            "dsportal.study.scaling."
        )
    if not is_count(wanted) or not N_NEEDED <= wanted <= session.n_gpus:
        raise LaunchError(
            f"You asked for gpus={gpus!r}; this session can probe 2 to {session.n_gpus}. For more, "
            "dsportal.study.scaling measures in jobs of their own."
        )
    return wanted
