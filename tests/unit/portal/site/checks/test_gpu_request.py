"""The jobs that look at GPUs: what they ask Slurm for."""

import subprocess
from dataclasses import replace

import pytest

from portal.hub.settings.loader import Settings
from portal.site.checks import gpu_probe
from portal.site.checks.gpu_request import GpuRequest, build_gpu_job, gpu_requests
from portal.site.checks.test_job import program_script
from spawner.programs.launcher import checked_arguments
from spawner.slurm.catalog import Catalog, Partition
from spawner.slurm.gres import GpuCount
from spawner.slurm.nodes import Node
from tests.support.slurm_nodes import idle_node

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
