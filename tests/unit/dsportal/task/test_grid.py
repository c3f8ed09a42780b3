import pytest

from dsportal.errors import LaunchError
from dsportal.task.grid import folder_of_point, grid_points, point_name


def test_every_combination_of_values_is_a_point() -> None:
    assert grid_points({"lr": [0.1, 0.01], "depth": range(2)}) == [
        {"lr": 0.1, "depth": 0},
        {"lr": 0.1, "depth": 1},
        {"lr": 0.01, "depth": 0},
        {"lr": 0.01, "depth": 1},
    ]


def test_points_are_picked_at_random_each_once_and_the_same_ones_by_the_same_seed() -> None:
    # More points than memory holds.
    grid = {name: range(1000) for name in "abcdef"}

    first = grid_points(grid, n=20, seed=3)

    assert len({point_name(point) for point in first}) == 20
    assert grid_points(grid, n=20, seed=3) == first
    assert grid_points(grid, n=20, seed=4) != first


def test_picking_all_points_gives_the_whole_grid() -> None:
    picked = grid_points({"lr": [1, 2], "depth": [3, 4]}, n=4)

    assert sorted(map(point_name, picked)) == [
        "lr=1, depth=3",
        "lr=1, depth=4",
        "lr=2, depth=3",
        "lr=2, depth=4",
    ]


@pytest.mark.parametrize("n", [0, 5])
def test_more_points_than_the_grid_has_cannot_be_picked(n: int) -> None:
    with pytest.raises(LaunchError, match="Give a number from 1 to 4"):
        grid_points({"lr": [1, 2], "depth": [3, 4]}, n=n)


def test_points_can_be_given_one_by_one() -> None:
    assert grid_points([{"lr": 1}, {"depth": 2}]) == [{"lr": 1}, {"depth": 2}]


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        ({}, "has 0 points"),
        ({"lr": []}, "has 0 points"),
        ({"n": range(1002)}, "has 1002 points, and an array of this Slurm 1 to 1001"),
        ({"lr": 0.1}, "give a list of values"),
        ({"word": "abc"}, "give a list of values"),
        ("lr=0.1", "give lists of values by name"),
        ([0.1], "give lists of values by name"),
        (3, "give lists of values by name"),
    ],
)
def test_what_is_no_grid_is_refused_with_one_that_is(grid: object, says: str) -> None:
    with pytest.raises(LaunchError, match=says):
        grid_points(grid)


def test_a_point_is_named_by_its_values_in_a_line_and_in_a_folder() -> None:
    point = {"lr": 0.1, "model": "a/b ../c"}

    assert point_name(point) == "lr=0.1, model='a/b ../c'"
    assert folder_of_point(7, point) == "007-lr=0.1,model=_a_b_.._c_"
