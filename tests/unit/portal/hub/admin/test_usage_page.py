"""What administrators see of the last weeks."""

from dataclasses import replace

from portal.hub.admin.usage import Usage
from portal.hub.admin.usage_page import describe_weeks


def used(group: str, user: str, hours: float, *, week: str = "2026-11-16", **more: float) -> Usage:
    return Usage(
        group=group,
        user=user,
        gpu_hours=hours,
        gpu_hours_in_sessions=more.get("in_sessions", 0),
        jobs=1,
        core_hours=more.get("core_hours", 0),
        core_hours_used=more.get("used", 0),
        gpu_hours_measured=more.get("measured", 0),
        gpu_hours_used=more.get("gpus_used"),
        week=week,
    )


def test_the_newest_week_comes_first_and_in_it_groups_and_users_with_the_most_hours() -> None:
    rows = [
        used("physics", "linus", 3),
        used("science", "ada", 1, core_hours=8, used=2, measured=1, gpus_used=0),
        used("science", "grace", 4, in_sessions=4),
        used("physics", "linus", 9, week="2026-11-09"),
    ]

    newest, oldest = describe_weeks(rows)

    assert (newest.monday, oldest.monday) == ("2026-11-16", "2026-11-09")
    assert [(line.group, line.user, line.gpu_hours) for line in newest.lines] == [
        ("science", "", "5.0"),
        ("science", "grace", "4.0"),
        ("science", "ada", "1.0"),
        ("physics", "", "3.0"),
        ("physics", "linus", "3.0"),
    ]
    assert (newest.whole.gpu_hours, newest.whole.in_sessions, newest.whole.jobs) == (
        "8.0",
        "4.0",
        3,
    )
    assert [line.gpus_used for line in newest.lines[:2]] == ["0.0 of 1.0 (0%)", "-"]
    assert (newest.whole.cores_used, oldest.whole.cores_used) == ("25%", "")


def test_each_cluster_has_a_week_of_its_own() -> None:
    here = replace(used("science", "ada", 1), cluster="Kepler")
    there = replace(used("science", "ada", 2), cluster="Volta")

    weeks = describe_weeks([here, replace(here, week="2026-11-09"), there])

    assert [(week.monday, week.cluster, week.whole.gpu_hours) for week in weeks] == [
        ("2026-11-16", "Kepler", "1.0"),
        ("2026-11-16", "Volta", "2.0"),
        ("2026-11-09", "Kepler", "1.0"),
    ]


def test_a_week_of_many_users_says_how_many_lines_it_leaves_out() -> None:
    (week,) = describe_weeks([used("science", f"u{n}", 1000 - n) for n in range(300)])

    assert len(week.lines) + week.n_left_out == 301
    assert week.lines[0].user == ""
    assert week.n_left_out > 0
