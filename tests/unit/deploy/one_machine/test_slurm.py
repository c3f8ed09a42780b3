"""Slurm's configuration for the cluster on one machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deploy.one_machine.cluster import has_cgroups, parse_memory_mib
from deploy.one_machine.gpus import Gpu
from deploy.one_machine.node import parse_usable
from deploy.one_machine.slurm import (
    render_cgroup_conf,
    render_gres_conf,
    render_slurm_conf,
    render_slurmdbd_conf,
)
from tests.unit.deploy.one_machine.clusters import REAL, SIMULATED

GOLDEN_DIR = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("simulated/slurm.conf", render_slurm_conf(SIMULATED)),
        ("simulated/gres.conf", render_gres_conf(SIMULATED)),
        ("simulated/cgroup.conf", render_cgroup_conf(SIMULATED)),
        ("simulated/slurmdbd.conf", render_slurmdbd_conf()),
        ("real/slurm.conf", render_slurm_conf(REAL)),
        ("real/gres.conf", render_gres_conf(REAL)),
        ("real/cgroup.conf", render_cgroup_conf(REAL)),
    ],
)
def test_the_configuration_is_the_one_that_was_tried(name: str, text: str) -> None:
    assert text == (GOLDEN_DIR / name).read_text()


def test_real_gpus_are_detected_where_slurm_can() -> None:
    assert "AutoDetect=nvml" in render_gres_conf(REAL, has_nvml=True)


def test_simulated_gpus_are_never_detected() -> None:
    assert "AutoDetect" not in render_gres_conf(SIMULATED, has_nvml=True)


def test_every_gpu_type_is_accounted_for() -> None:
    mixed = replace(
        REAL.nodes[0], gpus=(Gpu(minor=0, gres_type="t4"), Gpu(minor=1, gres_type="a100"))
    )
    text = render_slurm_conf(replace(REAL, nodes=(mixed,)))

    assert "AccountingStorageTRES=gres/gpu,gres/gpu:a100,gres/gpu:t4\n" in text


def test_control_groups_need_every_controller(tmp_path: Path) -> None:
    assert has_cgroups(tmp_path, lambda path: True)
    assert not has_cgroups(tmp_path, lambda path: path.name != "devices")
    assert not has_cgroups(tmp_path)


def test_the_memory_of_a_machine_is_read_in_mib() -> None:
    assert parse_memory_mib("MemTotal:       24659512 kB\nMemFree: 1 kB\n") == 24_081


def test_only_nodes_that_take_jobs_are_usable() -> None:
    sinfo = "n1|idle\nn2|mixed\nn3|idle*\nn4|down\nn5|drained\nn6|allocated\n"

    assert parse_usable(sinfo) == {"n1", "n2", "n6"}


def test_all_gpus_of_a_small_machine_can_be_in_use_at_once() -> None:
    small = replace(REAL, nodes=(replace(REAL.nodes[0], n_cores=6, memory_mib=16_000),))

    assert (small.cores_per_gpu, small.memory_gib_per_gpu) == (3, 7)
    assert "DefMemPerCPU=2389 DefMemPerGPU=7168 DefCpuPerGPU=3" in render_slurm_conf(small)


def test_a_gpu_never_comes_with_more_than_the_rule_says() -> None:
    assert (SIMULATED.cores_per_gpu, SIMULATED.memory_gib_per_gpu) == (8, 48)
