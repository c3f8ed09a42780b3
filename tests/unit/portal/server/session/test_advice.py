"""What the panel says about GPUs that are held up, at the limits of each rule."""

from dataclasses import replace

import pytest

from portal.server.base.cgroup import Allotment
from portal.server.base.gpus import GpuReading
from portal.server.base.resource_usage import Sample
from portal.server.session.advice import WINDOW_S, advise

CORES = Allotment(n_cores=8, memory_mib=None)
GPU = GpuReading(
    name="GPU",
    use_percent=95.0,
    memory_mib=40_000,
    memory_total_mib=80_000,
    power_w=600,
    power_limit_w=700,
)
SAMPLE = Sample(
    at_s=0.0, cpu_percent=150.0, programs_percent=140.0, memory_mib=1000, gpus=(GPU,),
    busiest_percent=50.0, disk_read_mib_s=0.0, disk_write_mib_s=0.0,
)  # fmt: skip


def said(sample: Sample = SAMPLE, *gpus: GpuReading, seconds: float = 60.0) -> str | None:
    sample = replace(sample, gpus=gpus) if gpus else sample
    return advise([replace(sample, at_s=1000 + at_s) for at_s in (0.0, seconds)], CORES)


def gpu(use_percent: float | None, **changes: int) -> GpuReading:
    return replace(GPU, use_percent=use_percent, **changes)  # type: ignore[arg-type]


def test_a_gpu_that_is_busy_at_full_power_needs_no_advice() -> None:
    assert said() is None


def test_nothing_is_said_before_a_minute_has_passed() -> None:
    assert said(SAMPLE, gpu(30.0, memory_mib=1), seconds=59.0) is None
    assert said(SAMPLE, gpu(30.0, memory_mib=1), seconds=60.0) is not None


def test_nothing_is_said_of_an_older_time() -> None:
    slow, busy = replace(SAMPLE, gpus=(gpu(20.0, memory_mib=1),)), SAMPLE
    before = [replace(slow, at_s=float(at_s)) for at_s in range(0, 100, 5)]
    now = [replace(busy, at_s=100 + WINDOW_S + at_s) for at_s in range(0, 100, 5)]

    assert advise([*before, *now], CORES) is None


@pytest.mark.parametrize("gpus", [None, ()])
def test_without_gpus_or_an_answer_of_the_driver_nothing_is_said(gpus: tuple[()] | None) -> None:
    assert said(replace(SAMPLE, gpus=gpus)) is None
    assert advise([], CORES) is None


def test_gpus_at_rest_need_no_advice() -> None:
    assert said(SAMPLE, gpu(4.9)) is None


def test_a_gpu_that_waits_while_a_core_is_full_waits_for_the_loader() -> None:
    full = replace(SAMPLE, busiest_percent=90.0)

    assert "Load data in several processes" in (said(full, gpu(59.9)) or "")
    assert "computes 5 % of the time" in (said(full, gpu(5.0)) or "")
    assert said(full, gpu(60.0)) is None
    assert said(replace(SAMPLE, busiest_percent=89.9), gpu(59.9)) is None


def test_a_gpu_that_waits_while_all_cores_are_full_needs_prepared_data() -> None:
    assert "all 8 cores are busy" in (said(replace(SAMPLE, cpu_percent=720.0), gpu(50.0)) or "")
    assert said(replace(SAMPLE, cpu_percent=719.0), gpu(50.0)) is None


def test_a_gpu_that_waits_while_nothing_computes_but_something_is_read_waits_for_storage() -> None:
    assert "storage is slow" in (said(replace(SAMPLE, disk_read_mib_s=1.0), gpu(50.0)) or "")
    assert said(replace(SAMPLE, disk_read_mib_s=0.9), gpu(50.0)) is None


def test_little_use_and_little_memory_mean_a_small_batch() -> None:
    assert "larger batch" in (said(SAMPLE, gpu(50.0, memory_mib=23_999)) or "")
    assert said(SAMPLE, gpu(50.0, memory_mib=24_000)) is None


def test_a_busy_gpu_that_draws_little_power_may_compute_in_fp32() -> None:
    assert "draws only 50 % of its power" in (said(SAMPLE, gpu(90.0, power_w=349)) or "")
    assert said(SAMPLE, gpu(90.0, power_w=350)) is None
    assert said(SAMPLE, gpu(89.9, power_w=349)) is None


def test_gpus_that_do_nothing_beside_busy_ones_are_named_first() -> None:
    sentence = said(SAMPLE, gpu(95.0), gpu(0.0)) or ""

    assert sentence.startswith("1 of 2 GPUs compute")
    assert said(SAMPLE, gpu(95.0), gpu(91.0)) is None


def test_parts_of_gpus_whose_use_is_unknown_need_no_advice() -> None:
    assert said(SAMPLE, gpu(None), gpu(None)) is None
    assert said(SAMPLE, gpu(95.0), gpu(None)) is None


def test_of_several_gpus_the_one_that_waits_most_is_judged() -> None:
    full = replace(SAMPLE, busiest_percent=100.0)

    assert "computes 40 % of the time" in (said(full, gpu(95.0), gpu(40.0)) or "")
