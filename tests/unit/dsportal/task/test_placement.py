import pytest

from dsportal.errors import StepError
from dsportal.task.placement import parse_tasks_per_node, read_placement


def placement(rank: int, local_rank: int, node_index: int, tasks_per_node: str):
    size = sum(parse_tasks_per_node(tasks_per_node))
    return read_placement(
        {
            "SLURM_PROCID": str(rank),
            "SLURM_LOCALID": str(local_rank),
            "SLURM_NODEID": str(node_index),
            "SLURM_STEP_NUM_TASKS": str(size),
            "SLURM_STEP_TASKS_PER_NODE": tasks_per_node,
            "SLURMD_NODENAME": f"node{node_index + 1:02}",
        }
    )


@pytest.mark.parametrize(
    ("text", "counts"),
    [("2", (2,)), ("2(x3),1", (2, 2, 2, 1)), ("4,3(x2)", (4, 3, 3)), ("1(x2)", (1, 1))],
)
def test_tasks_of_each_node_are_read(text, counts):
    assert parse_tasks_per_node(text) == counts


@pytest.mark.parametrize("text", ["", "2(x)", "two", "2,,1", "2(x3", "-1", "٢"])
def test_tasks_in_another_form_are_shown(text):
    with pytest.raises(StepError, match="not understood"):
        parse_tasks_per_node(text)


def test_two_ranks_on_one_node():
    second = placement(1, 1, 0, "2")

    assert (second.rank, second.size) == (1, 2)
    assert (second.local_rank, second.local_size) == (1, 2)
    assert (second.cross_rank, second.cross_size) == (0, 1)
    assert second.node == "node01"


def test_cross_ranks_count_only_nodes_with_so_many_ranks():
    third_of_first_node = placement(2, 2, 0, "3,1")
    only_of_second_node = placement(3, 0, 1, "3,1")

    assert (third_of_first_node.cross_rank, third_of_first_node.cross_size) == (0, 1)
    assert (only_of_second_node.cross_rank, only_of_second_node.cross_size) == (1, 2)
    assert only_of_second_node.local_size == 1


def test_a_process_that_is_no_rank_says_how_to_start_one():
    with pytest.raises(StepError, match=r"Start ranks with dsportal\.run"):
        read_placement({"SLURM_PROCID": "0"})
