"""What is said of a node's GPUs: real ones, simulated ones, and each fault with its cure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from dsportal.slurm.states import JobState
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, Grade
from portal.site.checks.gpu_findings import assess_gpus, check_gpus
from portal.site.checks.gpu_request import GpuRequest
from spawner.client.slurm import AcceptedJob, Slurm
from spawner.errors import JobRejectedError
from spawner.slurm.catalog import Catalog, Partition
from spawner.slurm.gres import GpuCount
from spawner.slurm.job_script import Job
from spawner.slurm.jobs import JobKey, JobRecord
from tests.support.eventually import eventually_async
from tests.support.slurm_nodes import idle_node

REQUEST = GpuRequest(partition="volta", gpu_type="v100", n_gpus=2)
GPU = {
    "name": "Tesla V100-SXM2-32GB",
    "persistence": "Enabled",
    "mig": "N/A",
    "n_uncorrected": 0,
    "row_pending": "",
    "row_failure": "",
}
RAN = {
    "name": "horovod/digits.ipynb",
    "kernel": "tensorflow",
    "took_s": 36,
    "failed": "",
    "n_gpus": 2,
    "said": "",
}
REAL: dict[str, Any] = {
    "given": ["0", "1"],
    "nvidia_smi": {"driver": "570.86.15", "gpus": [GPU, GPU]},
    "dcgmi": {"status": 0, "said": ""},
    "template": RAN,
}
SIMULATED: dict[str, Any] = {"given": ["0", "1"], "template": RAN | {"n_gpus": 0}}


def judge(found: Mapping[str, Any], settings: Settings) -> list[Finding]:
    return assess_gpus(found, REQUEST, "volta, v100: node01", settings)


def with_gpu(**change: object) -> dict[str, Any]:
    return REAL | {"nvidia_smi": {"driver": "570.86.15", "gpus": [GPU, GPU | change]}}


def with_smi(status: int, failed: str) -> dict[str, Any]:
    return REAL | {"nvidia_smi": {"status": status, "failed": failed}}


def test_gpus_in_order_are_told_with_driver_and_template(settings: Settings) -> None:
    findings = judge(REAL, settings)

    said = " ".join(one.sentence for one in findings)
    assert {one.grade for one in findings} == {Grade.OK}
    assert "volta, v100: node01: Slurm gave 2 of Tesla V100-SXM2-32GB, driver 570.86.15" in said
    assert "dcgmi diag -r 1 finds no fault" in said
    assert "horovod/digits.ipynb ran in 36 s with 2 GPUs" in said


def test_without_dcgmi_nothing_is_said_of_it(settings: Settings) -> None:
    findings = judge(REAL | {"dcgmi": None}, settings)

    assert "dcgmi" not in " ".join(one.sentence for one in findings)


def test_simulated_gpus_are_told_as_such_and_are_no_fault(settings: Settings) -> None:
    simulating = replace(settings, site=replace(settings.site, simulated_gpus=True))

    hardware, template = judge(SIMULATED, simulating)

    assert hardware.grade is Grade.SKIPPED
    assert "CUDA and NCCL were not tried" in hardware.sentence
    assert template.grade is Grade.OK
    assert "on cores, with 2 simulated GPUs" in template.sentence


@pytest.mark.parametrize(
    ("found", "grade", "said", "cure"),
    [
        (with_smi(127, "No such file"), Grade.WARNING, "no nvidia-smi", "simulated_gpus = true"),
        (
            with_smi(18, "Failed to initialize NVML: Driver/library version mismatch"),
            Grade.PROBLEM,
            "version mismatch",
            "Reboot",
        ),
        (with_smi(9, "NVIDIA-SMI has failed"), Grade.PROBLEM, "has failed", "modprobe nvidia"),
        (
            REAL | {"nvidia_smi": {"driver": "570.86.15", "gpus": []}},
            Grade.PROBLEM,
            "nvidia-smi lists 0",
            "dmesg",
        ),
        (REAL | {"given": ["0"]}, Grade.PROBLEM, "CUDA_VISIBLE_DEVICES names 1", "gres.conf"),
        (with_gpu(n_uncorrected=3), Grade.WARNING, "3 uncorrected ECC errors", "nvidia-smi -r"),
        (with_gpu(row_failure="Yes"), Grade.PROBLEM, "cannot replace a row", "card replaced"),
        (with_gpu(row_pending="Yes"), Grade.WARNING, "a row of its memory to replace", "reset"),
        (with_gpu(persistence="Disabled"), Grade.WARNING, "persistence", "nvidia-persistenced"),
        (
            REAL | {"dcgmi": {"status": 226, "said": "| PCIe  | Fail |"}},
            Grade.WARNING,
            "| PCIe | Fail |",
            "as root",
        ),
        (
            REAL | {"dcgmi": {"status": 255, "said": "Error: unable to establish a connection"}},
            Grade.SKIPPED,
            "does not reach its service",
            "systemctl start nvidia-dcgm",
        ),
        (
            REAL | {"template": RAN | {"failed": "NcclError: timed out"}},
            Grade.PROBLEM,
            "with the kernel tensorflow: NcclError: timed out",
            "the cell that fails",
        ),
        (
            REAL | {"template": RAN | {"n_gpus": 1, "said": "Cannot dlopen some GPU libraries"}},
            Grade.PROBLEM,
            "finds 1 of 2 GPUs: Cannot dlopen",
            "--flavour gpu",
        ),
        (
            REAL | {"template": {"untried": "none is here"}},
            Grade.SKIPPED,
            "no template was run: none is here",
            "",
        ),
    ],
    ids=[
        *("no program", "driver updated", "driver not loaded", "no gpu", "too few given", "ecc"),
        *("bad row", "row to replace", "persistence", "dcgm", "no service of dcgm"),
        *("template fails", "sees too few", "no template"),
    ],
)
def test_each_fault_is_told_with_its_cure(
    settings: Settings, found: Mapping[str, Any], grade: Grade, said: str, cure: str
) -> None:
    bad = [one for one in judge(found, settings) if one.grade is not Grade.OK]

    assert [one.grade for one in bad if said in " ".join(one.sentence.split())] == [grade]
    assert cure in " ".join(one.cure for one in bad)


def test_of_a_gpu_in_parts_a_program_needs_to_see_one(settings: Settings) -> None:
    found = with_gpu(mig="Enabled") | {"given": ["MIG-1", "MIG-2"], "template": RAN | {"n_gpus": 1}}

    assert {one.grade for one in judge(found, settings)} == {Grade.OK}


@pytest.mark.parametrize(
    "printed",
    [
        {"given": "all", "nvidia_smi": [1], "dcgmi": "\x1b[2J", "template": {"failed": "", "x": 1}},
        {"nvidia_smi": {"gpus": "\x1b[2J"}, "template": {"failed": "", "name": "\x1b[2J"}},
    ],
)
def test_a_user_who_prints_something_else_moves_no_cursor(
    settings: Settings, printed: dict[str, Any]
) -> None:
    findings = judge(printed, settings)

    assert Grade.OK not in {one.grade for one in findings}
    assert "\x1b" not in "".join(one.sentence for one in findings)


@dataclass
class FakeSlurm:
    """Takes jobs; all of them are in one state."""

    state: JobState
    is_refusing: bool = False
    jobs: list[JobKey] = field(default_factory=list)
    ended: list[JobKey] = field(default_factory=list)

    async def read_catalog(self) -> Catalog:
        nodes = (idle_node("n1", v100=GpuCount(total=4, free=4)),)
        partition = Partition(
            name="jupyter", is_default=True, is_up=True, max_walltime_s=None, nodes=nodes
        )
        return Catalog(partitions={"jupyter": partition})

    async def submit(self, user: str, job: Job, environment: Mapping[str, str]) -> AcceptedJob:
        if self.is_refusing:
            raise JobRejectedError("Your job limit is reached.")
        name = next(word for word in job.argv if word.startswith("--job-name=")).partition("=")[2]
        self.jobs.append(JobKey(job_id=len(self.jobs), user=user, name=name))
        return AcceptedJob(job_id=self.jobs[-1].job_id)

    async def find_jobs(self, *, name: str) -> list[JobRecord]:
        return [
            JobRecord(
                key=key, state=self.state, node="n1", starts_at="", comment="", reason="Resources"
            )
            for key in self.jobs
            if key.name == name
        ]

    async def list_jobs(self) -> list[JobKey]:
        return self.jobs

    async def cancel(self, key: JobKey) -> bool:
        self.ended.append(key)
        return True

    async def check(self, settings: Settings, user: str = "ada") -> list[Finding]:
        return await check_gpus(
            cast("Slurm", self), settings, user=user, partition="jupyter", wait_s=0.0
        )


async def test_a_check_that_is_given_up_ends_its_job(settings: Settings) -> None:
    slurm = FakeSlurm(JobState.RUNNING)
    looking = asyncio.ensure_future(slurm.check(settings))
    await eventually_async(slurm.list_jobs, 30)

    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking

    assert slurm.ended == slurm.jobs


async def test_a_job_that_waits_too_long_is_told_with_its_reason_and_ended(
    settings: Settings,
) -> None:
    slurm = FakeSlurm(JobState.PENDING)

    (finding,) = await slurm.check(settings)

    assert finding.grade is Grade.SKIPPED
    assert "Slurm says: Resources" in finding.sentence
    assert slurm.ended == slurm.jobs != []


async def test_a_job_that_slurm_refuses_is_told_with_its_reason(settings: Settings) -> None:
    (finding,) = await FakeSlurm(JobState.PENDING, is_refusing=True).check(settings)

    assert finding.grade is Grade.PROBLEM
    assert finding.cure == "Your job limit is reached."


async def test_without_a_user_or_a_gpu_no_job_is_made(settings: Settings) -> None:
    slurm = FakeSlurm(JobState.RUNNING)
    others = replace(settings, choices=replace(settings.choices, gpu_types=("a100",)))

    for user, what in (("", settings), ("ada", others)):
        (finding,) = await slurm.check(what, user)
        assert finding.grade is Grade.SKIPPED
        assert finding.cure

    assert slurm.jobs == []
