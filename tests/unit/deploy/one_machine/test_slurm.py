"""Slurm's configuration for the cluster on one machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from deploy.one_machine.cluster import Cluster, has_cgroups, parse_memory_mib
from deploy.one_machine.gpus import Gpu
from deploy.one_machine.node import parse_usable
from deploy.one_machine.slurm import (
    render_cgroup_conf,
    render_gres_conf,
    render_slurm_conf,
    render_slurmdbd_conf,
)
from tests.unit.deploy.one_machine.clusters import REAL, SIMULATED


def values(text: str) -> dict[str, str]:
    """Return the lines of a configuration file by their keys."""
    lines = [line.partition("=") for line in text.splitlines() if line and line[0] != "#"]
    return {key: value for key, _, value in lines}


@pytest.mark.parametrize(
    ("cluster", "tracking", "node"),
    [
        (
            SIMULATED,
            ("proctrack/cgroup", "task/cgroup", "jobacct_gather/cgroup", "yes"),
            "node02 NodeHostname=node02 NodeAddr=10.77.0.12 CPUs=40 Boards=1 SocketsPerBoard=2 "
            "CoresPerSocket=20 ThreadsPerCore=1 RealMemory=384000 Gres=gpu:v100:4 State=UNKNOWN",
        ),
        (
            REAL,
            ("proctrack/linuxproc", "task/none", "jobacct_gather/linux", "no"),
            # An odd number of cores has one socket.
            "node01 NodeHostname=node01 NodeAddr=10.77.0.11 CPUs=15 Boards=1 SocketsPerBoard=1 "
            "CoresPerSocket=15 ThreadsPerCore=1 RealMemory=117964 Gres=gpu:h200:2 State=UNKNOWN",
        ),
    ],
    ids=["simulated", "real"],
)
def test_slurm_is_told_what_this_machine_has(
    cluster: Cluster, tracking: tuple[str, ...], node: str
) -> None:
    slurm, cgroup = values(render_slurm_conf(cluster)), values(render_cgroup_conf(cluster))
    of_slurm = ("ProctrackType", "TaskPlugin", "JobAcctGatherType")

    assert (*(slurm[key] for key in of_slurm), cgroup["ConstrainDevices"]) == tracking
    assert slurm["NodeName"] == node
    assert slurm["SlurmctldHost"] == "dsphead(10.77.0.1)"


def test_each_gpu_has_its_device() -> None:
    assert render_gres_conf(REAL).splitlines()[1:] == [
        "NodeName=node01 Name=gpu Type=h200 File=/dev/nvidia0",
        "NodeName=node01 Name=gpu Type=h200 File=/dev/nvidia1",
    ]


def test_only_nodes_reach_the_accounting_which_needs_no_password() -> None:
    dbd = values(render_slurmdbd_conf())

    assert dbd["DbdAddr"] == "10.77.0.1"
    assert dbd["CommunicationParameters"] == "NoInAddrAny"
    assert "StoragePass" not in dbd


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
