"""An array is one row, which counts its tasks."""

from portal.server.jobs.arrays import N_TASKS
from portal.server.jobs.job import Action
from portal.server.jobs.jobs import ENDED, parse_lists
from portal.server.jobs.listing import join_rows

QUEUE = """\
@|12_[61-99:2,100%4]|PENDING|gpu|0:00|10:00|1|8|N/A|N/A|JobHeldUser|||train
@|12_60|RUNNING|gpu|1:00|10:00|1|8|N/A|2026-11-23T06:00:00|None|node01||train
@|13|PENDING|gpu|0:00|10:00|1|8|N/A|N/A|Priority|||alone
"""
LINE = "{}@{}@gpu@00:01:00@00:10:00@1@8@cpu=8@2026-11-23T05:00:00@{}@node01@@@{}\n"
ACCOUNTING = (
    LINE.format("9_1", "COMPLETED", "0:0", "single")
    + "".join(LINE.format(f"12_{n}", "COMPLETED", "0:0", "train") for n in range(1, 60))
    + LINE.format("12_0", "FAILED", "7:0", "train")
    + LINE.format("11", "CANCELLED by 7", "0:0", "between")
)
ACCOUNTED = list(ENDED.rows(ACCOUNTING, "@"))


def test_the_tasks_of_an_array_are_one_row_that_counts_them_all() -> None:
    jobs = parse_lists(QUEUE, ACCOUNTED, "@")

    rows = {job.id: job for job in jobs if not job.array}
    assert list(rows) == ["12", "13", "11", "9_1"]
    array = rows["12"]
    assert array.tasks == "82 tasks: 21 waiting, 1 running, 59 completed, 1 failed."
    assert (array.phase, array.is_over, array.name) == ("running", False, "train")
    # What can be done with the array concerns those that wait.
    assert array.actions == (Action.RELEASE,)
    assert "Release it." in array.reason


def test_below_an_array_are_its_tasks_that_wait_and_run_and_the_newest_that_ended() -> None:
    rows = join_rows(parse_lists(QUEUE, ACCOUNTED, "@"), [])

    ids = [row.job.id for row in rows if row.job]
    first = ids.index("12")
    tasks = ids[first + 1 : first + 1 + N_TASKS]
    assert tasks[:4] == ["12_[61-99:2,100%4]", "12_60", "12_0", "12_59"]
    assert [row.job.array for row in rows if row.job].count("12") == N_TASKS


def test_an_array_that_has_ended_is_as_good_as_its_tasks() -> None:
    ended = parse_lists("", ACCOUNTED, "@")
    (array,) = [job for job in ended if job.id == "12"]

    assert (array.phase, array.is_over, array.actions) == ("failed", True, ())
    assert array.tasks == "60 tasks: 59 completed, 1 failed."
