import math

import pytest

from dsportal.notebook.sweep_table import Goal, Point, SweepTable


def point(lr: float, state: str = "done", result: object = None, **more: object) -> Point:
    return Point(values={"lr": lr}, state=state, result=result, **more)


POINTS = [
    point(0.1, result={"loss": 2.0, "accuracy": 0.8}),
    point(0.2, result={"loss": 1.0, "accuracy": 0.7}),
    point(0.3, result={"loss": math.nan, "accuracy": math.nan}),
    point(0.4, "running", step=3, n_steps=8, loss=0.25),
    point(0.5, "waiting"),
    point(0.6, "failed", error="ValueError: <diverged>", log="/home/ada/rank-0.log"),
]


@pytest.mark.parametrize(
    ("goal", "best"),
    [
        (Goal(), 0.1),
        (Goal(is_smallest=True), 0.2),
        (Goal(metric="accuracy"), 0.1),
        (Goal(metric="accuracy", is_smallest=True), 0.2),
        # What is only reported counts, too.
        (Goal(metric="loss", is_smallest=True), 0.4),
    ],
)
def test_the_best_is_the_largest_or_smallest_of_one_result(goal: Goal, best: float) -> None:
    assert goal.ranked(POINTS)[0].values["lr"] == best


@pytest.mark.parametrize("result", [None, "fine", True, {"name": "x"}, {}, [1]])
def test_what_is_no_number_is_never_the_best(result: object) -> None:
    assert Goal().ranked([point(1, result=result)]) == []


def test_one_line_says_how_many_are_in_which_state_and_the_best() -> None:
    table = SweepTable(points=POINTS, goal=Goal(metric="accuracy"))

    assert table.summary() == (
        "6 points: 3 done, 1 running, 1 failed, 1 waiting; best so far 0.8 with lr=0.1"
    )


def test_the_table_has_the_best_first_then_what_runs_and_why_others_failed() -> None:
    lines = str(SweepTable(points=POINTS, goal=Goal(is_smallest=True))).splitlines()[1:]

    assert [" ".join(line.split()) for line in lines] == [
        "done 1 with lr=0.2",
        "done 2 with lr=0.1",
        "done nan with lr=0.3",
        "running lr=0.4, step 3 of 8, loss 0.25",
        "failed lr=0.6: ValueError: <diverged> (log: /home/ada/rank-0.log)",
        "waiting lr=0.5",
    ]


def test_a_page_has_a_row_for_each_point_and_runs_no_text_of_a_training() -> None:
    page = SweepTable(points=POINTS).html("/user/ada/portal/jobs")

    assert page.count("<tr>") == 1 + len(POINTS)
    assert "step 3 of 8, loss 0.25" in page
    assert "ValueError: &lt;diverged&gt; (log: /home/ada/rank-0.log)" in page
    assert '<a href="/user/ada/portal/jobs"' in page
    assert "Interrupting the kernel stops all points" in page


def test_of_many_points_the_table_counts_those_that_it_leaves_out() -> None:
    table = SweepTable(points=[point(n, result=n) for n in range(50)])

    assert str(table).endswith("\n  and 30 more points")
    assert "<p>and 30 more points</p>" in table.html()
    assert "Interrupting" not in table.html()


def test_a_row_has_arguments_state_and_results_by_name() -> None:
    assert point(0.1, result=3, log="/log").row() == {
        "lr": 0.1,
        "state": "done",
        "result": 3,
        "log": "/log",
    }
    assert point(0.1, "failed", error="ValueError: x").row()["error"] == "ValueError: x"


def test_a_row_has_the_loss_that_was_reported_unless_the_function_returned_one() -> None:
    assert point(0.1, result=3, loss=0.5).row()["loss"] == 0.5
    assert point(0.1, result={"loss": 0.4}, loss=0.5).row()["loss"] == 0.4
