"""What is said of a node's GPUs: real ones, simulated ones, and each fault with its cure."""

import asyncio
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from dsportal.slurm.states import JobState
from portal.hub.settings.loader import Settings
from portal.site.checks import gpu_probe
from portal.site.checks.finding import Finding, Grade, read_rows
from portal.site.checks.gpu_findings import (
    SAYINGS,
    GpuRequest,
    build_gpu_job,
    check_gpus,
    gpu_requests,
)
from portal.site.checks.test_job import program_script
from spawner.client.slurm import AcceptedJob, Slurm
from spawner.errors import JobRejectedError
from spawner.programs.launcher import checked_arguments
from spawner.slurm.catalog import Catalog, Partition
from spawner.slurm.gres import GpuCount
from spawner.slurm.job_script import Job
from spawner.slurm.jobs import JobKey, JobRecord
from spawner.slurm.nodes import Node
from tests.support.eventually import eventually_async
from tests.support.slurm_nodes import idle_node

GPU = """<gpu>
  <product_name>Tesla V100-SXM2-32GB</product_name>
  <persistence_mode>Enabled</persistence_mode>
  <mig_mode><current_mig>N/A</current_mig></mig_mode>
  <ecc_errors><volatile><dram_uncorrectable>0</dram_uncorrectable></volatile></ecc_errors>
  <remapped_rows>
    <remapped_row_pending>No</remapped_row_pending>
    <remapped_row_failure>No</remapped_row_failure>
  </remapped_rows>
</gpu>"""
NO_DCGMI = (127, "", "No such file")
Answer = tuple[int, str, str]


def smi(*gpus: str) -> Answer:
    head = "<nvidia_smi_log><driver_version>570.86.15</driver_version>"
    return 0, f"{head}{''.join(gpus)}</nvidia_smi_log>", ""


def gpu(tag: str, text: str) -> str:
    return re.sub(rf"(<{tag}>)[^<]+", rf"\g<1>{text}", GPU)


def judge(
    of_smi: Answer | None = None, dcgmi: Answer = NO_DCGMI, given: Sequence[str] = ("0", "1")
) -> list[Finding]:
    rows = gpu_probe.judge_nvidia_smi(*(of_smi or smi(GPU, GPU)), [*given], 2)
    rows += gpu_probe.judge_dcgmi(*dcgmi)
    return read_rows([[*row] for row in rows], SAYINGS, node="volta, v100: node01")


def test_gpus_in_order_are_told_with_their_driver() -> None:
    gpus, dcgm = judge(dcgmi=(0, "", ""))

    assert (gpus.grade, dcgm.grade) == (Grade.OK, Grade.OK)
    assert gpus.sentence == (
        "volta, v100: node01: Slurm gave 2 of Tesla V100-SXM2-32GB, driver 570.86.15, MIG N/A."
    )
    assert "dcgmi diag -r 1 finds no fault" in dcgm.sentence


@pytest.mark.parametrize(
    ("found", "grade", "said", "cure"),
    [
        (judge((127, "", "No such")), Grade.WARNING, "no nvidia-smi", "simulated_gpus = true"),
        (
            judge((18, "Failed to initialize NVML: Driver/library version mismatch", "")),
            Grade.PROBLEM,
            "version mismatch",
            "Reboot",
        ),
        (judge((9, "NVIDIA-SMI has failed", "")), Grade.PROBLEM, "has failed", "modprobe nvidia"),
        (judge(smi()), Grade.PROBLEM, "nvidia-smi lists 0", "dmesg"),
        (judge(given=["0"]), Grade.PROBLEM, "CUDA_VISIBLE_DEVICES names 1", "gres.conf"),
        (
            judge(smi(GPU, gpu("dram_uncorrectable", "3"))),
            Grade.WARNING,
            "3 uncorrected ECC errors",
            "nvidia-smi -r",
        ),
        (
            judge(smi(GPU, gpu("remapped_row_failure", "Yes"))),
            Grade.PROBLEM,
            "cannot replace a row",
            "card replaced",
        ),
        (
            judge(smi(GPU, gpu("remapped_row_pending", "Yes"))),
            Grade.WARNING,
            "a row of its memory to replace",
            "reset",
        ),
        (
            judge(smi(GPU, gpu("persistence_mode", "Disabled"))),
            Grade.WARNING,
            "persistence",
            "nvidia-persistenced",
        ),
        (
            judge(dcgmi=(226, "| PCIe | Fail |\n", ""))[1:],
            Grade.WARNING,
            "| PCIe | Fail |",
            "as root",
        ),
        (
            judge(dcgmi=(255, "", "Error: unable to establish a connection"))[1:],
            Grade.SKIPPED,
            "does not reach its service",
            "systemctl start nvidia-dcgm",
        ),
    ],
    ids=[
        *("no program", "driver updated", "driver not loaded", "no gpu", "too few given", "ecc"),
        *("bad row", "row to replace", "persistence", "dcgm", "no service of dcgm"),
    ],
)
def test_each_fault_is_told_with_its_cure(
    found: list[Finding], grade: Grade, said: str, cure: str
) -> None:
    (finding,) = found

    assert finding.grade is grade
    assert said in finding.sentence
    assert cure in finding.cure


def test_of_a_gpu_in_parts_the_whole_is_listed() -> None:
    whole = smi(gpu("current_mig", "Enabled"))

    assert [one.grade for one in judge(whole, given=["MIG-1", "MIG-2"])] == [Grade.OK]


@pytest.mark.parametrize("printed", [None, "\x1b[2J", [1], [[]], [["\x1b[2J"]], {"a": 1}])
def test_a_user_who_prints_something_else_moves_no_cursor(printed: object) -> None:
    (finding,) = read_rows(printed, SAYINGS, node="node01")

    assert finding.grade is Grade.WARNING
    assert "cannot be read" in finding.sentence
    assert "\x1b" not in finding.sentence


@pytest.mark.parametrize("words", [[], [*"abcdefghijk"], ["{node}", "x" * 9999], ["\x1b[2J"]])
def test_words_that_do_not_fit_are_no_fault_of_the_check(words: list[str]) -> None:
    (finding,) = read_rows([["ecc", *words]], SAYINGS, node="node01")

    assert "uncorrected ECC errors" in finding.sentence
    assert "\x1b" not in finding.sentence
    assert len(finding.sentence) < 1000


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


V100 = GpuCount(total=4, free=4)


def catalog(*nodes: Node) -> Catalog:
    partition = Partition(
        name="jupyter", is_default=True, is_up=True, max_walltime_s=None, nodes=nodes
    )
    return Catalog(partitions={"jupyter": partition})


def test_each_offered_type_is_asked_for_on_its_own(settings: Settings) -> None:
    nodes = (idle_node("n1", v100=V100), idle_node("n2", v100=V100, a100=V100))
    both = replace(settings, choices=replace(settings.choices, gpu_types=()))

    (only,) = gpu_requests(catalog(*nodes), settings, "jupyter")
    kinds = [one.gpu_type for one in gpu_requests(catalog(*nodes), both, "jupyter")]

    assert only.gpu_type == "v100"
    assert only.n_gpus == 2
    assert kinds == ["a100", "v100"]


def test_gpus_of_nodes_that_are_down_are_not_asked_for(settings: Settings) -> None:
    down = GpuCount(total=4, down=4)

    assert gpu_requests(catalog(idle_node("n1", v100=down)), settings, "jupyter") == []


@pytest.mark.parametrize("kind", ["shard", "1g.10gb"])
def test_of_a_shared_gpu_one_part_is_asked_for(settings: Settings, kind: str) -> None:
    offered = replace(settings, choices=replace(settings.choices, gpu_types=(kind,)))

    (request,) = gpu_requests(catalog(idle_node("n1", **{kind: V100})), offered, "jupyter")

    assert request.n_gpus == 1


def test_the_launcher_takes_the_job(settings: Settings) -> None:
    request = GpuRequest(partition="jupyter", gpu_type="v100", n_gpus=2)

    job = build_gpu_job(
        settings, request, name="x", script=program_script(gpu_probe), walltime_s=100
    )

    assert checked_arguments(list(job.argv)) == list(job.argv)
    assert {"--gpus-per-node=v100:2", "--time=2", "--mem=12288M"} <= set(job.argv)
    assert subprocess.run(["bash", "-n"], input=job.script.encode(), check=False).returncode == 0


def test_shards_are_asked_for_as_gres(settings: Settings) -> None:
    request = GpuRequest(partition="jupyter", gpu_type="shard", n_gpus=1)

    job = build_gpu_job(settings, request, name="x", script="", walltime_s=9)

    assert "--gres=shard:1" in checked_arguments(list(job.argv))
