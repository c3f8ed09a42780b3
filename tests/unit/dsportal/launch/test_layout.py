from dataclasses import replace

import pytest

from dsportal.errors import SessionError
from dsportal.launch.layout import Layout, fits_session, parse_layout
from dsportal.launch.session import SessionAllocation

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

    assert str(refusal.value) == f"You asked for gpus={gpus!r}. Give a number from 1 to 64."


@pytest.mark.parametrize("nodes", [0, "2", True, 1025])
def test_a_number_of_nodes_that_cannot_be_is_named_with_the_limit(nodes):
    with pytest.raises(SessionError, match="Give a number from 1 to 1024"):
        parse_layout(2, nodes, n_session_gpus=4)


@pytest.mark.parametrize(
    ("gpus", "nodes", "choices"),
    [
        (
            8,
            3,
            "gpus=6 or gpus=9 on nodes=3, or gpus=8, nodes=2 (4 on each).",
        ),
        (2, 3, "gpus=3 on nodes=3, or gpus=2, nodes=2 (1 on each)."),
        (
            5,
            2,
            "gpus=4 or gpus=6 on nodes=2, or gpus=5, nodes=1 (5 on each).",
        ),
        (65, 2, "gpus=64 or gpus=66 on nodes=2."),
    ],
)
def test_gpus_that_the_nodes_cannot_share_evenly_name_the_nearest_shapes_that_can(
    gpus: int, nodes: int, choices: str
) -> None:
    with pytest.raises(SessionError) as refused:
        parse_layout(gpus, nodes, n_session_gpus=4)

    assert str(refused.value).endswith(f"same number of ranks. Choose {choices}")


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


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        (Layout(n_ranks=8, n_nodes=2), True),
        (Layout(n_ranks=10, n_nodes=2), False),
        (Layout(n_ranks=3, n_nodes=3), False),
    ],
)
def test_a_notebook_as_a_job_on_two_nodes_has_ranks_on_both(shape, fits):
    assert fits_session(shape, replace(SESSION, n_nodes=2)) is fits
