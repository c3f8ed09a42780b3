"""The jobs that look at GPUs: what they ask Slurm for."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portal.hub.settings.loader import Settings
from portal.site.checks import gpu_probe, rank_starter
from portal.site.checks.allreduce import bus_gb_per_s
from portal.site.checks.framework_probe import computed
from portal.site.checks.gpu_request import GpuRequest, build_gpu_job, gpu_requests
from portal.site.checks.gpu_test_job import gpu_probe_input
from portal.site.checks.test_job import check_job_environment, program_script
from spawner.programs.launcher import checked_arguments
from spawner.slurm.catalog import Catalog, Partition
from spawner.slurm.gres import GpuCount
from spawner.slurm.nodes import Node
from tests.support.slurm_nodes import idle_node

# The longest text that Linux takes for one variable.
# Source: execve(2), MAX_ARG_STRLEN.
MOST_LETTERS = 131_072


def catalog(*nodes: Node) -> Catalog:
    partition = Partition(
        name="jupyter", is_default=True, is_up=True, max_walltime_s=None, nodes=nodes
    )
    return Catalog(partitions={"jupyter": partition})


V100 = GpuCount(total=4, free=4)


def test_each_offered_type_is_asked_for_on_its_own(settings: Settings) -> None:
    nodes = (idle_node("n1", v100=V100), idle_node("n2", v100=V100, a100=V100))
    both = replace(settings, choices=replace(settings.choices, gpu_types=()))

    (only,) = gpu_requests(catalog(*nodes), settings, "jupyter")
    kinds = [one.gpu_type for one in gpu_requests(catalog(*nodes), both, "jupyter")]

    assert only.gpu_type == "v100"
    assert only.n_gpus == 2
    assert [one.name for one in only.nodes] == ["n1", "n2"]
    assert kinds == ["a100", "v100"]


def test_two_nodes_are_tried_where_two_have_the_type_and_work(settings: Settings) -> None:
    down = GpuCount(total=4, down=4)

    nodes = (idle_node("n1", v100=V100), idle_node("n2", v100=down))

    (request,) = gpu_requests(catalog(*nodes), settings, "jupyter")

    assert request.nodes == ()
    assert gpu_requests(catalog(idle_node("n1", v100=down)), settings, "jupyter") == []


@pytest.mark.parametrize("kind", ["shard", "1g.10gb"])
def test_of_a_shared_gpu_one_part_is_asked_for(settings: Settings, kind: str) -> None:
    offered = replace(settings, choices=replace(settings.choices, gpu_types=(kind,)))
    nodes = (idle_node("n1", **{kind: V100}), idle_node("n2", **{kind: V100}))

    (request,) = gpu_requests(catalog(*nodes), offered, "jupyter")

    assert request.n_gpus == 1
    assert request.nodes == ()


@pytest.mark.parametrize("probe", [gpu_probe, rank_starter])
def test_the_launcher_takes_the_jobs(settings: Settings, probe: Any) -> None:
    request = GpuRequest(partition="jupyter", gpu_type="v100", n_gpus=2)

    job = build_gpu_job(
        settings, request, name="x", script=program_script(probe), walltime_s=100, node="n1"
    )
    shards = build_gpu_job(
        settings, replace(request, gpu_type="shard", n_gpus=1), name="x", script="", walltime_s=9
    )

    assert checked_arguments(list(job.argv)) == list(job.argv)
    assert {"--gpus-per-node=v100:2", "--time=2", "--nodelist=n1", "--mem=12288M"} <= set(job.argv)
    assert "--gres=shard:1" in shards.argv
    assert subprocess.run(["bash", "-n"], input=job.script.encode(), check=False).returncode == 0


def test_what_the_programs_are_asked_fits_into_a_variable(settings: Settings) -> None:
    variables = check_job_environment(settings, gpu_probe_input(settings))

    assert max(len(text) for text in variables.values()) < MOST_LETTERS


def test_bus_bandwidth_is_that_of_nccl_tests() -> None:
    assert bus_gb_per_s(10**9, 2, 1.0) == pytest.approx(1.0)
    assert bus_gb_per_s(10**9, 8, 1.0) == pytest.approx(1.75)


def test_a_gpu_that_raises_or_computes_wrong_sums_does_not_count() -> None:
    def compute(index: int) -> float:
        if index == 1:
            raise RuntimeError("CUDA error: no kernel image\nfor this device")
        return 8.0 if index == 0 else 7.0

    assert computed(3, compute) == {"gpus": 1, "said": "RuntimeError: CUDA error: no kernel image"}
    assert computed(0, compute) == {"gpus": 0, "said": ""}


def test_devices_and_cards_are_told_apart_from_files_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "nvidia0").write_text("")
    (tmp_path / "nvidiactl").write_text("")
    card = tmp_path / "sys/bus/pci/devices/0000:3b:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x10de\n")
    (card / "class").write_text("0x030200\n")

    assert gpu_probe.probe_devices(tmp_path) == {str(tmp_path / "nvidia0"): ""}
    assert gpu_probe.find_signs(tmp_path) == {"module": False, "pci": True}
