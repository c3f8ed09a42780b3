from __future__ import annotations

import pytest

from portal.launch.errors import SessionError
from portal.launch.slurm.layout import Layout, fits_session, parse_layout
from portal.launch.slurm.session import SessionAllocation

SESSION = SessionAllocation(
    job_id=41, node="node02", n_gpus=4, n_cores=32, n_usable_cores=32, simulated_gpus=True
)


@pytest.mark.parametrize(
    ("gpus", "nodes", "expected"),
    [
        (None, 1, Layout(n_ranks=4)),
        (None, 2, Layout(n_ranks=8, n_nodes=2)),
        (2, 1, Layout(n_ranks=2)),
        (2, 2, Layout(n_ranks=2, n_nodes=2)),
        (6, 1, Layout(n_ranks=6)),
    ],
)
def test_there_is_one_rank_for_each_gpu(gpus, nodes, expected):
    assert parse_layout(gpus, nodes, n_session_gpus=4) == expected


@pytest.mark.parametrize("gpus", [0, -1, "two", "2", 2.0, True, 65])
def test_a_number_of_gpus_that_cannot_be_is_named_with_the_limit(gpus):
    with pytest.raises(SessionError) as refusal:
        parse_layout(gpus, 1, n_session_gpus=4)

    assert str(refusal.value) == f"You asked for gpus={gpus!r}; give a number from 1 to 64."


@pytest.mark.parametrize("nodes", [0, "2", True, 1025])
def test_a_number_of_nodes_that_cannot_be_is_named_with_the_limit(nodes):
    with pytest.raises(SessionError, match="give a number from 1 to 1024"):
        parse_layout(2, nodes, n_session_gpus=4)


def test_every_node_has_the_same_number_of_ranks():
    with pytest.raises(SessionError, match=r"Choose 4 or 6 GPUs\.$"):
        parse_layout(5, 2, n_session_gpus=4)


def test_a_session_without_a_gpu_can_start_a_job_that_says_how_many():
    with pytest.raises(SessionError, match="this session has no GPU"):
        parse_layout(None, 1, n_session_gpus=0)
    assert parse_layout(2, 1, n_session_gpus=0) == Layout(n_ranks=2)


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        (Layout(n_ranks=4), True),
        (Layout(n_ranks=5), False),
        (Layout(n_ranks=2, n_nodes=2), False),
    ],
)
def test_what_the_session_cannot_hold_gets_a_job_of_its_own(shape, fits):
    assert fits_session(shape, SESSION) is fits
