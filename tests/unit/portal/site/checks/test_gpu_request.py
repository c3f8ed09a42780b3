"""The jobs that look at GPUs: what they ask Slurm for, and the programs that they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portal.hub.settings.loader import Settings
from portal.site.checks import gpu_probe, rank_starter
from portal.site.checks.allreduce import bus_gb_per_s
from portal.site.checks.framework_probe import computed
from portal.site.checks.gpu_request import GpuRequest, build_gpu_job, gpu_requests
from portal.site.checks.gpu_test_job import gpu_probe_input, rank_starter_input
from portal.site.checks.test_job import check_job_environment, parse_found, program_script
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


FRAMEWORKS = """
print("noise of a framework")
print('dsportal-check: {"torch": {"version": "2.9", "cuda": "12.8", "gpus": 1, "nccl": true}}')
"""
RANK = """
import json, os
asked = json.loads(os.environ["ALLREDUCE_QUESTION"])
if asked["rank"] == 0:
    print('dsportal-check: {"bus_gb_per_s": 2.5, "is_right": true, "n_bytes": 4}')
"""
FAILING_RANK = """
import json, os, threading
if json.loads(os.environ["ALLREDUCE_QUESTION"])["rank"] == 0:
    threading.Event().wait()
raise ConnectionError("nobody there")
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """Return a server environment that describes a kernel of this Python, and one of R."""
    for name, language, program in (("pytorch", "python", sys.executable), ("ir", "R", "R")):
        folder = tmp_path / "server/share/jupyter/kernels" / name
        folder.mkdir(parents=True)
        spec = {"language": language, "argv": [program, "-m", "x"]}
        (folder / "kernel.json").write_text(json.dumps(spec))
    return tmp_path / "server"


def run_job(probe: Any, question: dict[str, Any], **variables: str) -> dict[str, Any]:
    asked = {"PROBE_QUESTION": json.dumps(question), "PROBE_PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", "-c", program_script(probe)],
        env={**os.environ, **asked, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = parse_found(done.stdout)
    assert found is not None, done.stderr
    return found


def asked_of(
    settings: Settings, server: Path, *, nvidia_smi: list[str], rank: str
) -> dict[str, Any]:
    question = gpu_probe_input(settings) | {"server": str(server), "nvidia_smi": nvidia_smi}
    question["programs"] |= {"frameworks": FRAMEWORKS}
    for ranks in question["ranks"].values():
        ranks |= {"server": str(server), "program": rank}
    return question


def test_a_node_with_a_driver_is_asked_for_all_that_it_has(
    settings: Settings, server: Path, tmp_path: Path
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 0, GPU-1, Tesla V100, 570.86.15, 32768\n")
    smi.chmod(0o755)
    question = asked_of(settings, server, nvidia_smi=[str(smi)], rank=RANK)

    found = run_job(gpu_probe, question, CUDA_VISIBLE_DEVICES="0")

    assert found["is_real"] is True
    assert found["given"] == ["0"]
    assert found["nvidia_smi"]["said"] == "0, GPU-1, Tesla V100, 570.86.15, 32768"
    assert list(found["kernels"]) == ["pytorch"]
    assert found["kernels"]["pytorch"]["frameworks"]["torch"]["gpus"] == 1
    assert found["allreduce"]["untried"] == "the job has one GPU"
    # Two nodes with a GPU each can still be tried.
    assert found["allreduce"]["backend"] == "nccl"
    assert found["allreduce"]["kernel"] == "pytorch"


def test_a_node_without_a_driver_tries_two_processes(settings: Settings, server: Path) -> None:
    question = asked_of(settings, server, nvidia_smi=["/nowhere/nvidia-smi"], rank=RANK)

    found = run_job(gpu_probe, question | {"root": str(server)})

    assert found["is_real"] is False
    assert found["nvidia_smi"] == {"rc": 127, "said": "No such file or directory"}
    assert found["allreduce"]["backend"] == "gloo"
    assert found["allreduce"]["bus_gb_per_s"] == 2.5


def test_a_card_without_a_driver_is_a_real_gpu_unless_the_site_simulates(
    settings: Settings, server: Path
) -> None:
    (server / "proc/driver/nvidia").mkdir(parents=True)
    (server / "proc/driver/nvidia/version").write_text("")
    question = asked_of(settings, server, nvidia_smi=["false"], rank=RANK) | {"root": str(server)}

    assert run_job(gpu_probe, question)["is_real"] is True
    assert run_job(gpu_probe, question | {"is_simulated": True})["is_real"] is False


def test_a_kernel_without_frameworks_and_one_that_is_broken_are_told(
    settings: Settings, server: Path
) -> None:
    question = asked_of(settings, server, nvidia_smi=["false"], rank=RANK)
    none, broken = 'print("dsportal-check: {}")', 'raise ImportError("libcudart.so.12")'

    def kernel(program: str) -> dict[str, Any]:
        question["programs"]["frameworks"] = program
        found = run_job(gpu_probe, question | {"root": str(server)})
        assert found["allreduce"] == {"untried": "no kernel has PyTorch"}
        answer: dict[str, Any] = found["kernels"]["pytorch"]
        return answer

    assert kernel(none) == {"frameworks": {}, "reason": ""}
    assert kernel(broken) == {"failed": "ImportError: libcudart.so.12"}


def test_a_rank_that_fails_is_told_and_the_others_are_not_waited_for(
    settings: Settings, server: Path
) -> None:
    asked = rank_starter_input(settings, "gloo") | {
        "server": str(server),
        "program": FAILING_RANK,
        "kernel": "pytorch",
        "n_local": 2,
        "meeting_place": "file:///nowhere",
    }

    found = run_job(rank_starter, asked)

    assert found["failed"] == "ConnectionError: nobody there"
    assert found["backend"] == "gloo"


def test_ranks_of_a_kernel_that_this_node_lacks_are_told(settings: Settings, server: Path) -> None:
    asked = rank_starter_input(settings, "nccl") | {
        "server": str(server),
        "kernel": "gone",
        "n_local": 1,
    }

    assert "the kernel gone" in run_job(rank_starter, asked)["failed"]


def test_devices_and_cards_are_told_apart_from_files_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "nvidia0").write_text("")
    (tmp_path / "nvidiactl").write_text("")
    card = tmp_path / "sys/bus/pci/devices/0000:3b:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x10de\n")
    (card / "class").write_text("0x030200\n")

    assert gpu_probe.probe_devices(tmp_path) == {str(tmp_path / "nvidia0"): ""}
    assert gpu_probe.find_signs(tmp_path) == {"module": False, "pci": True}
