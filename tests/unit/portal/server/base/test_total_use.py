"""What is said of the use of a whole session."""

from typing import Any

import pytest

from portal.server.base.cgroup import Allotment
from portal.server.base.gpus import GpuReading
from portal.server.base.resource_usage import Sample
from portal.server.base.total_use import TotalUse

ALLOTMENT = Allotment(n_cores=8, memory_mib=49152)


def sample(*gpu_percents: float | None, cpu: float | None = 100.0, **changes: Any) -> Sample:
    gpus = tuple(GpuReading(name="a", use_percent=use, memory_mib=2048) for use in gpu_percents)
    values: dict[str, Any] = {"at_s": 0.0, "programs_percent": cpu, "memory_mib": 1024}
    return Sample(**{**values, "cpu_percent": cpu, "gpus": gpus or None, **changes})


def total(*samples: Sample) -> TotalUse:
    use = TotalUse()
    for one in samples:
        use = use.plus(one, ALLOTMENT)
    return use


def test_averages_peaks_and_the_idle_share_are_said() -> None:
    busy, idle = sample(100.0, 60.0, memory_mib=3072), sample(0.0, 0.0, cpu=500.0)

    assert total(busy, busy, busy, idle).words(ALLOTMENT) == (
        "Used: GPUs 60 % on average, at most 80 %, idle 25 % of the time, GPU memory 4.0 GB on "
        "average, at most 4.0 GB, 2.0 of 8 cores on average, at most 5.0, memory 2.5 GB on "
        "average, at most 3.0 GB."
    )


@pytest.mark.parametrize(
    ("samples", "advice"),
    [
        ([sample(30.0, busiest_percent=98.0)] * 3 + [sample(95.0)] * 2, "for the CPU 60 %"),
        ([sample(30.0, cpu=790.0)] * 4, "for the CPU 100 %"),
        ([sample(1.0, 2.0)] * 3 + [sample(90.0, 90.0)], "nothing 75 %"),
        ([sample(95.0, busiest_percent=98.0)] * 4, ""),
        ([sample(1.0)] * 3, ""),
        ([sample(None)] * 9, ""),
        ([sample()] * 9, ""),
    ],
)
def test_one_sentence_says_what_held_the_gpus_up(samples: list[Sample], advice: str) -> None:
    use = total(*samples)

    assert advice in use.advice
    assert bool(advice) is bool(use.advice)


def test_what_was_not_measured_is_not_told() -> None:
    assert total(*[sample(cpu=None, memory_mib=None)] * 9).words(ALLOTMENT) == ""
    assert total(sample(50.0)).words(ALLOTMENT) == ""
    assert "GPU" not in total(*[sample()] * 9).words(ALLOTMENT)
