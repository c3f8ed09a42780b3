import pytest

from dsportal.slurm.arrays import parse_max_array_size, tasks_of


@pytest.mark.parametrize(
    ("job_id", "tasks"),
    [
        ("12", []),
        ("12+1", []),
        ("12_3", [3]),
        ("12_[4-6]", [4, 5, 6]),
        ("12_[0-6:3,9,20-21%4]", [0, 3, 6, 9, 20, 21]),
        ("12_[1,2,...]", [1, 2]),
    ],
)
def test_an_id_names_the_tasks_of_an_array(job_id: str, tasks: list[int]) -> None:
    assert tasks_of(job_id) == tasks


@pytest.mark.parametrize(
    ("text", "most"),
    [("MaxArraySize            = 1001\nMaxBatchRequeue = 5\n", 1001), ("", None)],
)
def test_slurm_says_how_many_tasks_an_array_may_have(text: str, most: int | None) -> None:
    assert parse_max_array_size(text) == most
