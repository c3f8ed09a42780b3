"""GPU hours by group and user: the period, the sums, and what is said where there is nothing."""

from dataclasses import replace
from datetime import datetime

import pytest

from portal.hub.admin.usage import Usage, list_weeks, sum_up, usage_csv
from portal.site.commands.usage import read_period, usage_gauges, usage_text
from spawner.client.command import ClusterAddress
from spawner.errors import SiteError
from spawner.slurm.sacct import parse_owned_allocations
from tests.support.jobstats import summary

NOW = datetime(2026, 11, 20, 12)
VOLTA = ClusterAddress(name="volta", title="Volta")
# A session, a job before and into the period, one that runs, one without a GPU, one that waits, a
# kernel of a session, and a name that looks like another line.
SACCT = """\
1|ada|science|vision|08:00:00|2026-11-02T00:00:00|2026-11-02T02:00:00|cpu=8,gres/gpu=2|COMPLETED|JOBSTATS|dsportal-1
2|ada|science|speech|00:00.000|2026-10-31T23:00:00|2026-11-01T01:00:00|gres/gpu:v100=4|COMPLETED||train
3|grace|science|vision|00:00.000|2026-11-20T11:30:00|Unknown|gres/gpu=1|RUNNING||train
4|linus|physics|vision|1-00:00:00|2026-11-02T00:00:00|2026-11-03T00:00:00|cpu=8|COMPLETED||train
5|linus|physics|vision|00:00:00|Unknown|Unknown|gres/gpu=4|PENDING||train
7|grace|science|vision|00:00.000|2026-11-20T11:45:00|Unknown|gres/gpu=2|RUNNING||kernel-of-3
6|linus|physics|vision|15:00.500|2026-11-02T00:00:00|2026-11-02T00:30:00|gres/gpu=1|FAILED||train
x|ada|physics|vision|00:00|2026-11-02T00:00:00|2026-11-09T00:00:00|gres/gpu=8|COMPLETED||train
""".replace("JOBSTATS", summary([60.0, 30.0]))


def rows_of(by: str) -> list[Usage]:
    held = parse_owned_allocations(SACCT, "|")
    return sum_up(held, since=datetime(2026, 11, 1), until=NOW, by=by)


def test_hours_are_those_within_the_period_by_group_with_the_most_first() -> None:
    assert [
        (r.group, r.user, r.gpu_hours, r.gpu_hours_in_sessions, r.jobs) for r in rows_of("group")
    ] == [
        ("physics", "linus", 0.5, 0, 1),
        ("science", "ada", 8.0, 4.0, 2),
        ("science", "grace", 1.0, 0.5, 2),
    ]


def test_one_user_has_a_row_for_each_account() -> None:
    assert [(r.group, r.user, r.gpu_hours) for r in rows_of("account")] == [
        ("speech", "ada", 4.0),
        ("vision", "ada", 4.0),
        ("vision", "grace", 1.0),
        ("vision", "linus", 0.5),
    ]


def test_jobs_without_an_account_have_a_row_with_a_name() -> None:
    line = (
        "1|ada|science||08:00|2026-11-02T00:00:00|2026-11-02T02:00:00|gres/gpu=2|COMPLETED||train"
    )
    held = parse_owned_allocations(f"{line}\n", "|")
    (row,) = sum_up(held, since=datetime(2026, 11, 1), until=NOW, by="account")
    assert row.group == "(none)"


def test_the_table_has_a_sum_for_each_group_and_for_all() -> None:
    lines = usage_text(rows_of("group"), since=datetime(2026, 11, 1), until=NOW, by="group")
    used = ["1.8", "of", "4.0", "(45%)"]

    assert [line.split() for line in lines.splitlines()[2:]] == [
        ["physics", "linus", "0.50", "0.00", "-", "-", "1"],
        ["science", "ada", "8.00", "4.00", *used, "50%", "2"],
        ["science", "grace", "1.00", "0.50", "-", "-", "2"],
        ["science", "all", "9.00", "4.50", *used, "50%", "4"],
        ["all", "all", "9.50", "4.50", *used, "50%", "5"],
    ]


def test_a_period_splits_into_weeks_that_begin_on_monday() -> None:
    weeks = list_weeks(datetime(2026, 10, 31, 12), datetime(2026, 11, 10))

    assert [week for _, _, week in weeks] == ["2026-10-26", "2026-11-02", "2026-11-09"]
    assert weeks[0][0] == datetime(2026, 10, 31, 12)
    assert weeks[0][1] == weeks[1][0] == datetime(2026, 11, 2)
    assert weeks[2][1] == datetime(2026, 11, 10)


def test_a_spreadsheet_gets_what_was_held_and_used() -> None:
    held = parse_owned_allocations(SACCT, "|")
    begin, end = datetime(2026, 11, 2), datetime(2026, 11, 9)
    rows = sum_up(held, since=begin, until=end, by="account", week="2026-11-02")

    assert usage_csv(rows, by="account").splitlines() == [
        "account,user,gpu_hours,gpu_hours_in_sessions,jobs,core_hours,core_hours_used,"
        "gpu_hours_measured,gpu_hours_used,week,cluster",
        "vision,ada,4.0,4.0,1,16.0,8.0,4.0,1.8,2026-11-02,",
        "vision,linus,0.5,0.0,1,0.0,0.0,0.0,,2026-11-02,",
    ]


def test_prometheus_gets_a_gauge_for_each_user_and_week() -> None:
    held = parse_owned_allocations(SACCT, "|")
    begin, end = datetime(2026, 11, 2), datetime(2026, 11, 9)
    rows = sum_up(held, since=begin, until=end, by="account", week="2026-11-02")

    # An empty label is to Prometheus as none.
    of_ada = '{account="vision",cluster="",user="ada",week="2026-11-02"}'
    lines = usage_gauges(rows, by="account").splitlines()
    assert f"dsportal_usage_gpu_hours{of_ada} 4.0" in lines
    assert f"dsportal_usage_core_hours_used{of_ada} 8.0" in lines
    assert f"dsportal_usage_gpu_hours_used{of_ada} 1.8" in lines
    used = [line for line in lines if line.startswith("dsportal_usage_gpu_hours_used{")]
    assert len(used) == 1, "nothing was measured of the others, which is not 0"


def test_each_cluster_has_a_table_of_its_own_and_a_missing_one_a_sentence() -> None:
    missing = {VOLTA: SiteError("Slurm is not responding.")}
    rows = [
        replace(row, cluster=title) for title in ("Kepler", "Pascal") for row in rows_of("group")
    ]
    period = {"since": datetime(2026, 11, 1), "until": NOW}

    lines = usage_text(rows, **period, by="group", missing=missing).splitlines()

    assert [line for line in lines if line in {"Kepler", "Pascal"}] == ["Kepler", "Pascal"]
    assert sum(line.startswith("all ") for line in lines) == 2
    assert lines[-1] == "The hours of Volta are missing. Slurm is not responding."
    nothing = usage_text([], **period, by="group", missing=missing)
    assert nothing.splitlines()[-1] == lines[-1]


def test_a_cluster_that_does_not_answer_has_a_line_without_numbers_and_no_gauge_of_hours() -> None:
    rows = [replace(row, cluster="Kepler") for row in rows_of("group")]
    kepler = ClusterAddress(title="Kepler")

    assert usage_csv(rows, by="group", missing=[VOLTA]).splitlines()[-1] == (
        "(no answer),,,,,,,,,,Volta"
    )
    lines = usage_gauges(rows, by="group", known=[kepler], missing=[VOLTA]).splitlines()
    assert [line for line in lines if "Volta" in line] == [
        'dsportal_usage_answers{cluster="Volta"} 0.0'
    ]
    assert 'dsportal_usage_answers{cluster="Kepler"} 1.0' in lines


def test_nothing_is_not_said_to_be_nothing_used() -> None:
    assert "AccountingStorageTRES" in usage_text([], since=NOW, until=NOW, by="group")


def test_a_period_is_this_month_unless_it_is_named() -> None:
    assert read_period("", "", NOW) == (datetime(2026, 11, 1), NOW)
    assert read_period("2026-10-01", "2026-11-01", NOW) == (
        datetime(2026, 10, 1),
        datetime(2026, 11, 1),
    )
    # What lies ahead has not been held.
    assert read_period("2026-11-01", "2026-12-01", NOW)[1] == NOW


@pytest.mark.parametrize(
    ("since", "until"), [("last week", ""), ("2026-11-21", ""), ("2026-11-02", "2026-11-01")]
)
def test_a_period_that_cannot_be_is_refused(since: str, until: str) -> None:
    with pytest.raises(SiteError):
        read_period(since, until, NOW)
