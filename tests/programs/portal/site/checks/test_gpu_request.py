"""The programs that look at GPUs on a node, with stand-ins for what they start there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portal.hub.settings.loader import Settings
from portal.site.checks import gpu_probe, rank_starter
from portal.site.checks.gpu_test_job import gpu_probe_input, rank_starter_input
from portal.site.checks.test_job import parse_found, program_script

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
