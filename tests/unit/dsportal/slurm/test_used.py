"""What a job used, from sacct's lines."""

from typing import Any

import pytest

from dsportal.slurm.used import JobUse, parse_uses
from tests.support.jobstats import summary

# Of Slurm 22.05.8: a session, then a task of an array with two steps at a time.
RECORDED = """\
143|27|billing=8,cpu=8,gres/gpu:v100=1,gres/gpu=1,mem=48G,node=1||||dsportal-0ad27d
143.batch|29|cpu=8,gres/gpu:v100=1,gres/gpu=1,mem=48G,node=1|cpu=00:00:01,energy=0,fs/disk=0,\
mem=352K,pages=2,vmem=1628K|cpu=00:00:01,energy=0,fs/disk=0,mem=352K,pages=2,vmem=1628K||batch
144_2|3600|cpu=4,mem=8G,node=1||||sweep
144_2.batch|3600|cpu=4,mem=8G,node=1|cpu=00:00:00,mem=0|cpu=00:00:00,mem=0||batch
144_2.0|3600|cpu=4,mem=8G,node=1|cpu=00:50:00,mem=2G|cpu=01:40:00,mem=4G||run-a
144_2.1|1800|cpu=2,mem=4G,node=1|cpu=00:20:00,mem=1G|cpu=00:20:00,mem=1G||run-b
145|60|cpu=1,mem=1G,node=1||||short
"""
GPUS = """\
7|7200|cpu=16,gres/gpu:a100=2,mem=96G||||train
7.batch|7200|cpu=16,gres/gpu:a100=2,mem=96G|cpu=02:00:00,mem=20G,gres/gpumem=30720M,\
gres/gpuutil=97|cpu=02:00:00,mem=20G,gres/gpumem=10240M,gres/gpuutil=12||batch
"""


def uses(text: str, **options: Any) -> dict[str, JobUse]:
    return parse_uses(text.replace("|", "NONCE"), "NONCE", **options)


def test_the_steps_of_a_job_tell_what_it_used_of_what_it_held() -> None:
    found = uses(RECORDED)

    assert found["143"] == JobUse(
        elapsed_s=27, n_cores=8, memory_mib=49152, n_gpus=1, cpu_s=1, peak_memory_mib=1
    )
    assert found["144_2"].sentences == (
        "It used 2.0 of 4 cores on average, at most 4 of 8 GB of memory."
    )
    assert found["145"].sentences == ""


def test_of_a_run_in_a_session_only_its_own_steps_count() -> None:
    (use,) = uses(RECORDED, step_name="run-b").values()

    assert (use.elapsed_s, use.n_cores, use.cpu_s) == (1800, 2, 1200)
    assert uses(RECORDED, step_name="other") == {}


def test_gpus_are_told_by_their_peak_since_slurm_keeps_no_average() -> None:
    assert uses(GPUS)["7"].sentences == (
        "It used 1.0 of 16 cores on average, at most 20 of 96 GB of memory, its GPUs at most to "
        "97 %, at most 30 GB of GPU memory. At least one GPU did nothing at any time: ask for "
        "fewer, or use run()."
    )


def test_an_average_of_gpus_is_told_in_hours_where_jobstats_has_one() -> None:
    found = uses(GPUS.replace("||||train", f"|||{summary([50.0, 25.0], memory_gib=3)}|train"))

    assert found["7"].mean_gpu_percent == 37.5
    assert "38 % on average, which is 1.5 of 4.0 GPU hours" in found["7"].amounts
    assert found["7"].peak_gpu_percent == 97
    # Slurm's own is of one task.
    assert uses(GPUS)["7"].mean_gpu_percent is None


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"peak_gpu_percent": 0}, "Nothing computed on its GPUs"),
        ({"mean_gpu_percent": 0.0}, "next to nothing"),
        ({"mean_gpu_percent": 40.0}, ""),
        ({"peak_gpu_percent": 90, "cpu_s": 3500 * 8}, "All its cores were busy"),
        ({"peak_memory_mib": 46000}, "nearly full"),
        ({"n_gpus": 0, "cpu_s": 360}, "ask for fewer"),
        ({"n_gpus": 0, "n_cores": 1, "cpu_s": 0}, ""),
        ({"peak_gpu_percent": 90, "cpu_s": 3600}, ""),
        ({"peak_gpu_percent": 0, "elapsed_s": 60}, ""),
        ({}, ""),
    ],
    ids=str,
)
def test_advice_is_given_only_where_something_was_measured(
    changes: dict[str, Any], advice: str
) -> None:
    held: dict[str, Any] = {"elapsed_s": 3600, "n_cores": 8, "memory_mib": 49152, "n_gpus": 1}
    use = JobUse(**{**held, **changes})

    assert advice in use.advice
    assert bool(advice) is bool(use.advice)
