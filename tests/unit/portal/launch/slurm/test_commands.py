from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from portal.launch.errors import SessionError
from portal.launch.slurm.commands import parse_most_gpus, submit
from portal.launch.slurm.layout import Layout, explain_too_many
from portal.launch.slurm.sbatch import JobRequest


@pytest.mark.parametrize(
    ("gres", "most"),
    [
        ("gpu:4\n", 4),
        ("gpu:v100:4(S:0-1)\n(null)\n", 4),
        ("gpu:a100:2,gpu:v100:1(S:0),mps:200\ngpu:1\n", 3),
        ("gpu:a100_1g.5gb:7(S:0)\n", 7),
        ("(null)\n", 0),
        ("", 0),
    ],
    ids=["plain", "typed", "two types", "MIG", "none", "no answer"],
)
def test_the_node_with_the_most_gpus_counts(gres, most):
    assert parse_most_gpus(gres) == most


@pytest.mark.parametrize(
    ("n_ranks", "n_nodes", "choice"),
    [
        (5, 1, "Choose gpus=4 or fewer, or gpus=6, nodes=2."),
        (8, 1, "Choose gpus=4 or fewer, or gpus=8, nodes=2."),
        (10, 2, "Choose gpus=8, nodes=2 or fewer, or gpus=12, nodes=3."),
    ],
)
def test_more_gpus_than_a_node_has_are_refused_with_what_fits(n_ranks, n_nodes, choice):
    said = explain_too_many(Layout(n_ranks=n_ranks, n_nodes=n_nodes), 4)

    assert said is not None
    assert said.startswith(f"You asked for {n_ranks} GPUs on ")
    assert "no node has more than 4." in said
    assert said.endswith(choice)


@pytest.mark.parametrize("most", [5, 8, 0])
def test_nothing_is_said_where_a_node_has_enough_or_nobody_knows(most):
    assert explain_too_many(Layout(n_ranks=5, n_nodes=1), most) is None


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the programs that are run; sinfo says that each partition has one node."""
    asked: list[str] = []

    def answer(argv, **_):
        asked.append(argv[0])
        said = {"sinfo": "1\n", "sbatch": "7\n"}[argv[0]]
        return subprocess.CompletedProcess(argv, 0, said, "")

    monkeypatch.setattr("subprocess.run", answer)
    return asked


def request(n_nodes: int, partition: str = "gpu") -> JobRequest:
    shape = Layout(n_ranks=n_nodes, n_nodes=n_nodes)
    folder = Path("/home/ada/run")
    return JobRequest(name="run", shape=shape, walltime_s=60, folder=folder, partition=partition)


def test_a_run_on_more_nodes_than_its_partition_has_is_refused_and_not_queued(asked):
    with pytest.raises(SessionError) as refused:
        submit(request(2), ["true"])

    assert str(refused.value) == (
        "You asked for 2 nodes; the session's partition gpu has 1 node. Choose nodes=1, or start a"
        " session in a partition with more."
    )
    assert asked == ["sinfo"]


@pytest.mark.parametrize("fitting", [request(1), request(2, partition="")])
def test_a_run_that_fits_or_whose_partition_is_not_known_is_queued(asked, fitting):
    assert submit(fitting, ["true"]) == 7
    assert asked == ["sbatch"]
