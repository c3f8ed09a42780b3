"""What jobstats says of GPUs, and texts that only look like it."""

import pytest

from dsportal.slurm.jobstats import GpuSummary, parse_jobstats
from tests.support.jobstats import pack, pack_text, summary


def of_one_gpu(**changes: object) -> str:
    node = {"gpu_utilization": {"3": 50.0}, "gpu_used_memory": {"3": 2**30}}
    return pack({"gpus": 1, "nodes": {"node01": {**node, **changes}}})


def test_the_use_of_all_gpus_is_one_average_and_their_memory_a_sum() -> None:
    assert parse_jobstats(of_one_gpu()) == GpuSummary(mean_percent=50, peak_memory_mib=1024)
    assert parse_jobstats(summary([80, 0, 10], memory_gib=2)) == GpuSummary(
        mean_percent=30, peak_memory_mib=3 * 2048
    )


def test_memory_that_is_not_known_is_not_0() -> None:
    assert parse_jobstats(of_one_gpu(gpu_used_memory={})) == GpuSummary(mean_percent=50)


def test_gpus_that_did_nothing_are_measured() -> None:
    assert parse_jobstats(summary([0.0])) == GpuSummary(mean_percent=0, peak_memory_mib=0)


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "asked for by the help desk",
        "JS1:Short",
        "JS1:None",
        "JS1:H4sIAAAA",
        "JS1:" + "A" * 200,
        summary([50.0])[4:],
        # Nothing without GPUs, and nothing of a part of them.
        summary([]),
        summary([50.0], gpus=2),
        of_one_gpu(gpu_utilization={}),
        # Nothing that no GPU can do.
        of_one_gpu(gpu_utilization={"1": 250}),
        of_one_gpu(gpu_utilization={"1": float("nan")}),
        of_one_gpu(gpu_utilization={"1": "much"}),
        of_one_gpu(gpu_utilization={"1": 10**400}),
        of_one_gpu(gpu_utilization=[1]),
        summary([50.0], gpus=None),
        pack({"nodes": []}),
        pack([]),
        # More than any cluster has to say, and more than JSON may nest.
        of_one_gpu(also=" " * (1 << 20)),
        pack_text("[" * 100_000),
    ],
    ids=lambda text: text[:12],
)
def test_no_other_text_is_a_measurement(comment: str) -> None:
    assert parse_jobstats(comment) is None
