from __future__ import annotations

import pytest

from portal.launch.slurm.commands import parse_most_gpus
from portal.launch.slurm.layout import Shape, explain_too_many


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
    said = explain_too_many(Shape(n_ranks=n_ranks, n_nodes=n_nodes), 4)

    assert said is not None
    assert said.startswith(f"You asked for {n_ranks} GPUs on ")
    assert "no node has more than 4." in said
    assert said.endswith(choice)


@pytest.mark.parametrize("most", [5, 8, 0])
def test_nothing_is_said_where_a_node_has_enough_or_nobody_knows(most):
    assert explain_too_many(Shape(n_ranks=5, n_nodes=1), most) is None
