"""Which GPU each rank of a run sees: whole GPUs, parts of them (MIG), one node and several."""

from pathlib import Path

import pytest

from dsportal.errors import StepError
from dsportal.task.environment import rank_environment
from dsportal.task.gpus import gpu_variables, name_mig, parse_mig, visible_gpus
from dsportal.task.placement import Placement

MIG = ("MIG-63feeb45-94c6-51fc-be72-dd5d5f1db02a", "MIG-2f5cba3c-0c2f-5c5d-a8b9-4a0a7e2c1d3e")
# What the driver prints where a job has two parts of one GPU. Older drivers name a part by the
# UUID of the whole and two numbers.
LISTING = f"""\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
  MIG 3g.20gb     Device  0: (UUID: {MIG[0]})
  MIG 3g.20gb     Device  1: (UUID: {MIG[1]})
"""
OLD_LISTING = """\
GPU 0: A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
  MIG 1g.5gb Device 0: (UUID: MIG-GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77/7/0)
"""


def place(rank: int, *, ranks_per_node: int, n_nodes: int = 1) -> Placement:
    return Placement(
        rank=rank,
        size=ranks_per_node * n_nodes,
        local_rank=rank % ranks_per_node,
        local_size=ranks_per_node,
        cross_rank=rank // ranks_per_node,
        cross_size=n_nodes,
        node=f"node{rank // ranks_per_node + 1:02}",
    )


def shown(
    visible: str, *, ranks_per_node: int, n_nodes: int = 1, one_gpu_each: bool = True
) -> list[str]:
    """Return what each rank of a run sees where Slurm shows the same on every node."""
    return [
        gpu_variables(
            place(rank, ranks_per_node=ranks_per_node, n_nodes=n_nodes),
            visible_gpus({"CUDA_VISIBLE_DEVICES": visible}),
            simulated_gpus=False,
            one_gpu_each=one_gpu_each,
        )["CUDA_VISIBLE_DEVICES"]
        for rank in range(ranks_per_node * n_nodes)
    ]


def test_each_rank_sees_its_own_gpu() -> None:
    assert shown("0,1,2,3", ranks_per_node=4) == ["0", "1", "2", "3"]
    assert shown("2,GPU-7f3a", ranks_per_node=2) == ["2", "GPU-7f3a"]


def test_on_several_nodes_each_rank_sees_the_gpu_of_its_place_on_its_node() -> None:
    assert shown("0,1", ranks_per_node=2, n_nodes=2) == ["0", "1", "0", "1"]


def test_a_run_on_one_of_four_gpus_sees_one() -> None:
    assert shown("0,1,2,3", ranks_per_node=1) == ["0"]
    assert shown("0,1,2,3", ranks_per_node=1, one_gpu_each=False) == ["0"]


def test_a_rank_of_pytorch_sees_the_gpus_of_all_ranks_of_its_node_and_no_more() -> None:
    assert shown("0,1,2,3", ranks_per_node=2, one_gpu_each=False) == ["0,1", "0,1"]


def test_each_rank_sees_its_own_part_of_a_gpu() -> None:
    assert shown(",".join(MIG), ranks_per_node=2) == [*MIG]


def test_a_rank_of_pytorch_sees_its_own_part_alone_as_cuda_uses_one_part_and_no_more() -> None:
    values = gpu_variables(
        place(1, ranks_per_node=2), MIG, simulated_gpus=False, one_gpu_each=False
    )

    assert values == {"CUDA_VISIBLE_DEVICES": MIG[1], "LOCAL_RANK": "0"}


def test_the_index_that_a_rank_of_pytorch_takes_its_gpu_by_is_that_of_what_it_sees() -> None:
    def local_rank(visible: str) -> str:
        return rank_environment(
            place(1, ranks_per_node=2),
            {"CUDA_VISIBLE_DEVICES": visible},
            n_threads=8,
            simulated_gpus=False,
            rendezvous=("127.0.0.1:4711/secret", 0),
            one_gpu_each=False,
        )["LOCAL_RANK"]

    assert local_rank("0,1") == "1"
    assert local_rank(",".join(MIG)) == "0"


def test_two_ranks_never_share_a_real_gpu() -> None:
    with pytest.raises(StepError, match="2 ranks and Slurm shows them 1 GPUs"):
        shown("0", ranks_per_node=2)


@pytest.mark.parametrize("visible", ["", "NoDevFiles", "-1"])
def test_what_names_no_gpu_is_none(visible: str) -> None:
    with pytest.raises(StepError, match="Slurm shows them 0 GPUs"):
        shown(visible, ranks_per_node=1)


def test_simulated_gpus_need_not_be_visible() -> None:
    assert (
        gpu_variables(place(1, ranks_per_node=2), (), simulated_gpus=True, one_gpu_each=True) == {}
    )


def test_the_parts_that_the_driver_lists_are_read() -> None:
    assert parse_mig(LISTING) == MIG
    assert parse_mig(OLD_LISTING) == ("MIG-GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77/7/0",)


def test_where_a_whole_gpu_is_listed_too_a_number_may_mean_that() -> None:
    whole = "GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-7f3a)\n"

    assert parse_mig(LISTING + whole) == parse_mig(whole + LISTING) == parse_mig(whole) == ()


@pytest.fixture
def capabilities(tmp_path: Path) -> Path:
    """The driver's folder on a node with two parts of one GPU."""
    for instance in (1, 2):
        tmp_path.joinpath(f"capabilities/gpu0/mig/gi{instance}/ci0").mkdir(parents=True)
    return tmp_path / "capabilities"


@pytest.fixture
def nvidia_smi(tmp_path: Path) -> str:
    """A program that lists two parts."""
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{LISTING}END\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("visible", "named"),
    [
        ("0,1", ",".join(MIG)),
        # One number is enough for CUDA: it uses the first part that it sees.
        ("0", "0"),
        # The node has more than the job was given, and nobody knows which are its own.
        ("0,1,2", "0,1,2"),
        (",".join(reversed(MIG)), ",".join(reversed(MIG))),
    ],
)
def test_numbers_become_the_uuids_of_parts(
    capabilities: Path, nvidia_smi: str, visible: str, named: str
) -> None:
    environ = {"CUDA_VISIBLE_DEVICES": visible, "PATH": "/usr/bin"}

    assert name_mig(environ, capabilities, nvidia_smi) == {**environ, "CUDA_VISIBLE_DEVICES": named}


def test_numbers_stay_where_no_gpu_has_parts_or_the_driver_does_not_answer(
    tmp_path: Path, capabilities: Path, nvidia_smi: str
) -> None:
    environ = {"CUDA_VISIBLE_DEVICES": "0,1"}

    assert name_mig(environ, tmp_path / "none", nvidia_smi) == environ
    assert name_mig(environ, capabilities, str(tmp_path / "no-such-program")) == environ
