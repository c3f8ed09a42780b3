"""What is said of a node's GPUs: real ones, simulated ones, and each fault with its cure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dsportal.slurm.states import JobState
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, Grade
from portal.site.checks.gpu_answers import AllReduce, parse_allreduce, parse_gpu_answer
from portal.site.checks.gpu_findings import assess_allreduce, assess_gpus, assess_pair
from portal.site.checks.gpu_request import GpuRequest
from portal.site.checks.test_job import CheckJobResult
from spawner.slurm.jobs import JobKey, JobRecord
from spawner.slurm.nodes import Node

GOLDEN = Path(__file__).parents[1] / "golden"
REQUEST = GpuRequest(partition="volta", gpu_type="v100", n_gpus=2)
TORCH = {"version": "2.9.0+cu128", "cuda": "12.8", "gpus": 2, "nccl": True, "said": ""}
TENSORFLOW = {"version": "2.20.0", "cuda": "12.5.1", "gpus": 2, "said": ""}
ALLREDUCE = {
    "kernel": "pytorch",
    "backend": "nccl",
    "n_bytes": 268435456,
    "bus_gb_per_s": 131.7,
    "is_right": True,
}
REAL: dict[str, Any] = {
    "is_real": True,
    "given": ["0", "1"],
    "devices": {"/dev/nvidia0": "", "/dev/nvidia1": ""},
    "nvidia_smi": {"rc": 0, "said": (GOLDEN / "nvidia-smi-v100.csv").read_text()},
    "kernels": {
        "python3": {"frameworks": {}, "reason": ""},
        "pytorch": {"frameworks": {"torch": TORCH}, "reason": ""},
        "tensorflow": {"frameworks": {"tensorflow": TENSORFLOW}, "reason": ""},
    },
    "allreduce": ALLREDUCE,
}
SIMULATED: dict[str, Any] = {
    "is_real": False,
    "given": ["0"],
    "devices": {"/dev/nvidia0": "no NVIDIA device", "/dev/nvidia1": "no NVIDIA device"},
    "nvidia_smi": {"rc": 127, "said": "No such file or directory"},
    "kernels": {
        "pytorch": {"frameworks": {"torch": TORCH | {"cuda": "", "gpus": 0}}, "reason": ""}
    },
    "allreduce": ALLREDUCE | {"backend": "gloo", "bus_gb_per_s": 0.7, "n_bytes": 8388608},
}


def judge(found: Mapping[str, Any], settings: Settings) -> list[Finding]:
    return assess_gpus(parse_gpu_answer(found), settings, REQUEST, node="node01")


def with_torch(**change: object) -> dict[str, Any]:
    reason = str(change.pop("reason", ""))
    kernel = {"frameworks": {"torch": TORCH | change}, "reason": reason}
    return REAL | {"kernels": {"pytorch": kernel}}


def test_gpus_in_order_are_told_with_driver_cuda_and_bandwidth(settings: Settings) -> None:
    findings = judge(REAL, settings)

    said = " ".join(one.sentence for one in findings)
    assert {one.grade for one in findings} == {Grade.OK}
    assert "volta, v100: node01: Slurm gave 2 of Tesla V100-SXM2-32GB, driver 570.86.15" in said
    assert "PyTorch 2.9.0+cu128 (CUDA 12.8) computes on 2" in said
    assert "TensorFlow 2.20.0 (CUDA 12.5.1) computes on 2" in said
    assert "all-reduce of 256 MiB over 2 GPUs through NCCL: 132 GB/s" in said


def test_simulated_gpus_are_told_as_such_and_are_no_fault(settings: Settings) -> None:
    simulating = replace(settings, site=replace(settings.site, simulated_gpus=True))

    hardware, frameworks, allreduce = judge(SIMULATED, simulating)

    assert hardware.grade is Grade.SKIPPED
    assert "simulated: /dev/nvidia0 is no NVIDIA device" in hardware.sentence
    assert "driver, CUDA and NCCL were not tried" in hardware.sentence
    assert frameworks.grade is Grade.OK
    assert "sees 0 GPUs" in frameworks.sentence
    assert allreduce.grade is Grade.OK
    assert "2 processes through Gloo, on cores: 0.7 GB/s" in allreduce.sentence


def test_a_site_that_does_not_say_that_it_simulates_is_warned(settings: Settings) -> None:
    hardware = judge(SIMULATED, settings)[0]

    assert hardware.grade is Grade.WARNING
    assert "simulated_gpus = true" in hardware.cure


@pytest.mark.parametrize(
    ("found", "said", "cure"),
    [
        (
            REAL | {"nvidia_smi": {"rc": 127, "said": "No such file or directory"}},
            "there is no nvidia-smi",
            "Install NVIDIA's driver",
        ),
        (
            REAL
            | {"nvidia_smi": {"rc": 18, "said": (GOLDEN / "nvidia-smi-mismatch.txt").read_text()}},
            "Driver/library version mismatch",
            "Reboot",
        ),
        (
            REAL | {"nvidia_smi": {"rc": 9, "said": "NVIDIA-SMI has failed"}},
            "NVIDIA-SMI has failed",
            "modprobe nvidia",
        ),
        (
            REAL | {"nvidia_smi": {"rc": 0, "said": (GOLDEN / "nvidia-smi-old.csv").read_text()}},
            "was built for CUDA 12.8, which needs driver 525 or newer; there is 470.256.02",
            "Install driver 525 or newer",
        ),
        (
            REAL | {"nvidia_smi": {"rc": 0, "said": "No devices were found"}},
            "lists no GPU",
            "dmesg",
        ),
        (REAL | {"given": ["0"]}, "asked for 2 GPUs and CUDA_VISIBLE_DEVICES names 1", "gres.conf"),
        (
            REAL | {"devices": {"/dev/nvidia0": "", "/dev/nvidia1": "Operation not permitted"}},
            "/dev/nvidia1 (Operation not permitted)",
            "cgroup.conf",
        ),
        (with_torch(cuda="", gpus=0), "was built without CUDA", "--flavour gpu"),
        (
            with_torch(gpus=1, said="no kernel image is available"),
            "1 of 2 GPUs",
            "too old for this build",
        ),
        (
            with_torch(gpus=0, reason="Cannot dlopen some GPU libraries"),
            "Cannot dlopen",
            "Libraries of CUDA",
        ),
        (with_torch(gpus=0), "no reason given", "nvidia-smi -L"),
        (
            REAL | {"kernels": {"pytorch": {"frameworks": {"torch": {"failed": "libcudart"}}}}},
            "is not imported: libcudart",
            "Build the environment again",
        ),
        (
            REAL | {"kernels": {"pytorch": {"failed": "no answer in 150 s"}}},
            "no answer in 150 s",
            "the share",
        ),
    ],
    ids=[
        *(
            "no program",
            "driver updated",
            "driver not loaded",
            "old driver",
            "no gpu",
            "too few given",
        ),
        *("closed device", "cpu flavour", "old gpu", "libraries", "no word", "import", "no answer"),
    ],
)
def test_each_fault_is_a_problem_with_its_cure(
    settings: Settings, found: Mapping[str, Any], said: str, cure: str
) -> None:
    problems = [one for one in judge(found, settings) if one.grade is Grade.PROBLEM]

    assert [one for one in problems if said in one.sentence and cure in one.cure]


def test_of_a_gpu_in_parts_a_program_needs_to_see_one(settings: Settings) -> None:
    found = with_torch(gpus=1) | {"given": ["MIG-1", "MIG-2"], "devices": {"/dev/nvidia0": ""}}

    assert {one.grade for one in judge(found, settings)} == {Grade.OK}


def test_horovod_without_nccl_is_warned_of(settings: Settings) -> None:
    kernel = {"frameworks": {"horovod": {"version": "0.28.1", "nccl": False}}}

    findings = judge(REAL | {"kernels": {"tensorflow": kernel}}, settings)

    (warned,) = [one for one in findings if one.grade is Grade.WARNING]
    assert "through the memory of the host" in warned.sentence
    assert "NCCL" in warned.cure


def test_without_frameworks_it_is_said_that_nothing_was_tried(settings: Settings) -> None:
    found = REAL | {"kernels": {}, "allreduce": {"untried": "no kernel has PyTorch"}}

    grades = [one.grade for one in judge(found, settings)]

    assert grades == [Grade.OK, Grade.SKIPPED, Grade.SKIPPED]


def test_an_all_reduce_that_fails_or_computes_wrong_sums_is_told() -> None:
    failed = assess_allreduce(AllReduce(backend="nccl", failed="timed out"), "x", is_real=True)
    wrong = assess_allreduce(parse_allreduce(ALLREDUCE | {"is_right": False}), "x", is_real=True)

    assert failed.grade is wrong.grade is Grade.WARNING
    assert "through NCCL fails: timed out" in failed.sentence
    assert "/dev/shm" in failed.cure
    assert "the sum is wrong" in wrong.sentence


def node(name: str) -> Node:
    return Node(
        name=name,
        address=name,
        state="idle",
        idle_are="free",
        n_cores=8,
        n_cores_used=0,
        memory_mib=64000,
        memory_used_mib=0,
        gpus={},
    )


def trial(state: JobState, found: dict[str, Any] | None, reason: str = "None") -> CheckJobResult:
    key = JobKey(job_id=7, user="ada", name="portal-check-1")
    record = JobRecord(key=key, state=state, node="n1", starts_at="", comment="", reason=reason)
    return CheckJobResult(key=key, record=record, found=found)


PAIR = replace(REQUEST, nodes=(node("n1"), node("n2")))


def test_two_nodes_that_add_up_are_told_with_the_bandwidth_of_rank_0() -> None:
    first = trial(JobState.COMPLETED, ALLREDUCE | {"bus_gb_per_s": 11.5})
    second = trial(JobState.COMPLETED, {"backend": "nccl", "kernel": "pytorch"})

    finding = assess_pair([first, second], PAIR)

    assert finding.grade is Grade.OK
    assert "n1 and n2: all-reduce of 256 MiB over 2 GPUs through NCCL: 11.5" in finding.sentence


def test_two_nodes_that_do_not_meet_are_told_with_what_to_look_at() -> None:
    failed = trial(JobState.COMPLETED, {"backend": "nccl", "failed": "DistNetworkError: timed out"})

    finding = assess_pair([failed], PAIR)

    assert finding.grade is Grade.WARNING
    assert "DistNetworkError" in finding.sentence
    assert "all TCP ports" in finding.cure


def test_a_job_that_waits_for_the_second_node_is_told_as_such() -> None:
    finding = assess_pair([trial(JobState.PENDING, None, "Resources")], PAIR)

    assert finding.grade is Grade.SKIPPED
    assert "Slurm says: Resources" in finding.sentence
    assert "--wait" in finding.cure


def test_what_a_user_prints_instead_counts_as_not_said() -> None:
    answer = parse_gpu_answer(
        {"given": "all", "devices": [1], "kernels": {"\x1b[2J": 3}, "allreduce": {"n_bytes": "x"}}
    )

    assert answer.given == ()
    assert list(answer.kernels) == ["[2J"]
    assert answer.allreduce.n_bytes == 0
